# SPDX-License-Identifier: MIT
# package: nodejs
# needs: node
# records: node
cat >work.js <<'END'
const {Worker, isMainThread, parentPort, workerData} = require('worker_threads');
const fs = require('fs'), crypto = require('crypto'), http = require('http'), zlib = require('zlib');
const {execFileSync, fork} = require('child_process');
if (process.argv[2] === 'child') {
  process.send({sum: [...Array(1000).keys()].reduce((a, b) => a + b)});
  process.disconnect();
} else if (!isMainThread) {
  let h = crypto.createHash('sha256');
  for (let i = 0; i < 20000; i++) h.update(String(i * workerData));
  parentPort.postMessage([workerData, h.digest('hex')]);
} else (async () => {
  const results = await Promise.all([1, 2, 3, 4].map(n => new Promise((done, fail) => {
    const w = new Worker(__filename, {workerData: n});
    w.on('message', done); w.on('error', fail);
  })));
  console.log(results);
  fs.writeFileSync('f', 'x'.repeat(1e6));
  console.log(zlib.gzipSync(fs.readFileSync('f')).length, execFileSync('echo', ['hi']).toString());
  console.log(await new Promise(done => fork(__filename, ['child']).on('message', done)));
  const server = http.createServer((q, a) => a.end('you asked ' + q.url)).listen(0, '127.0.0.1');
  await new Promise(done => server.on('listening', done));
  for (let i = 0; i < 50; i++)
    var text = await (await fetch(`http://127.0.0.1:${server.address().port}/${i}`)).text();
  console.log(text);
  server.closeAllConnections(); server.close();
  crypto.pbkdf2('a', 'b', 10000, 32, 'sha512', (e, key) => console.log(key.toString('hex')));
  process.on('exit', () => console.error('bye'));
  process.exitCode = 4;
})();
END
node work.js || echo "status $?"
node -e 'throw 3' 2>/dev/null || echo "status $?"
