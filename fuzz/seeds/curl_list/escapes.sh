curl $'http://a/\u0021\x41\101\U0001f600\ud83d\ude00\cA' --data=$'\xc3\xbc\'' "b\
\$c" ^x
