# SPDX-License-Identifier: MIT
# package: git
# needs: git
# records: git
export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z
git config --global user.email a@b && git config --global user.name n
git config --global init.defaultBranch main
git init -q a && cd a || exit 1
for i in $(seq 20); do
    seq "$i" 500 >f"$i" && git add . && git commit -qm "commit $i" || exit 1
done
git checkout -qb side HEAD~5 && echo side >g && git add g && git commit -qm side && git checkout -q main
git merge -q -m merged side
echo x >f1 && git stash -q && git stash pop -q && git checkout -q f1
git rebase -q --root 2>&1 | tail -n 1
git gc -q && git fsck --strict && git repack -adfq --threads=2
git clone -q --no-local . ../b && cd ../b && git log --format='%H %s' | head -n 5
git grep -c 499 | tail -n 3; git blame -s f3 | tail -n 1; git archive HEAD | sha256sum
git diff --stat HEAD~2 | tail -n 1; git bundle create -q ../all.bundle main && git bundle verify -q ../all.bundle
git nonsense || echo "status $?"
rm -rf .git/objects/pack ../a/.git/objects/pack # named after what several threads made of them
