# copied
curl 'http://127.0.0.1:8080/x' \
  -H 'accept: */*' \
  --data-raw '{"a": "it'\''s"}' ;
curl -X "P\"U\nT" http://127.0.0.1:8080/ # not this
curl --data-raw $'a\'b' http://127.0.0.1:8080/
