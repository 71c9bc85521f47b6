# SPDX-License-Identifier: MIT
# package: nginx-light apache2-utils
# needs: /usr/sbin/nginx ab
# records: nginx ab
mkdir logs www && seq 100000 >www/big && echo small >www/small && chmod -R a+rX .
cat >conf <<END
worker_processes 2;
pid $PWD/pid;
error_log $PWD/logs/error notice;
events { worker_connections 256; }
http {
    access_log $PWD/logs/access; gzip on; gzip_types *;
    client_body_temp_path $PWD/t1; proxy_temp_path $PWD/t2; fastcgi_temp_path $PWD/t3; uwsgi_temp_path $PWD/t4; scgi_temp_path $PWD/t5;
    server { listen 127.0.0.1:18479; root $PWD/www; }
}
END
nginx=/usr/sbin/nginx
"$nginx" -e "$PWD/logs/error" -c "$PWD/conf" || exit 1
load() { ab -q -n 2000 -c 20 "$@" 2>&1 | grep -E '^(Complete|Failed|Total transferred|HTML|Document Length)'; }
load http://127.0.0.1:18479/small
load -k http://127.0.0.1:18479/big
load -H 'Accept-Encoding: gzip' http://127.0.0.1:18479/small
"$nginx" -e "$PWD/logs/error" -c "$PWD/conf" -s reload; sleep 0.5
load http://127.0.0.1:18479/missing
"$nginx" -e "$PWD/logs/error" -c "$PWD/conf" -s quit
while [ -e pid ]; do sleep 0.05; done
wc -l <logs/access; grep -cE '\[(alert|crit|emerg)\]' logs/error || true
