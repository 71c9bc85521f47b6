# SPDX-License-Identifier: MIT
# package: chromium
# needs: chromium
# records: bash
cat >page.html <<'END'
<!doctype html><title>t</title><p id=p>before</p><script>
let s = 0; for (let i = 0; i < 1e6; i++) s += i % 7;
document.getElementById('p').textContent = 'after ' + s; document.title = 'done';
</script>
END
chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/profile" --virtual-time-budget=2000 \
    --dump-dom "file://$PWD/page.html" 2>/dev/null
echo "$?"
rm -rf profile .config .cache .pki .local
