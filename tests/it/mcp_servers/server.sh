#!/bin/sh
# A tool server that reads what it offers from files: tools.json, name, resources. Every call is a line in calls.
dir=$1
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
fail() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$1" "$2" "$3"; }
echo started >> "$dir/starts"
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9][0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*)
        more=
        [ -f "$dir/resources" ] && more=',"resources":{},"prompts":{}'
        answer "$id" "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true}$more},\"serverInfo\":{\"name\":\"$(cat "$dir/name")\",\"version\":\"1.0\"}}"
        ;;
    *'"method":"tools/list"'*)
        echo listed >> "$dir/lists"
        [ -f "$dir/restless" ] && echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        answer "$id" "{\"tools\":$(cat "$dir/tools.json")}"
        ;;
    *'"method":"resources/list"'*)
        answer "$id" '{"resources":[{"uri":"note://one","name":"one","description":"A note."}]}'
        ;;
    *'"method":"resources/read"'*)
        answer "$id" '{"contents":[{"uri":"note://one","mimeType":"text/plain","text":"the note says 42"}]}'
        ;;
    *'"method":"prompts/list"'*)
        answer "$id" '{"prompts":[{"name":"sum","description":"Sums up.","arguments":[{"name":"of","required":true}]}]}'
        ;;
    *'"method":"prompts/get"'*)
        answer "$id" '{"messages":[{"role":"user","content":{"type":"text","text":"Sum it up."}}]}'
        ;;
    *'"method":"tools/call"'*)
        echo "$line" >> "$dir/calls"
        case $line in
        *'"name":"renew"'*)
            # It offers other tools from now on, in the midst of its work.
            cp "$dir/next.json" "$dir/tools.json"
            echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
            ;;
        esac
        answer "$id" '{"content":[{"type":"text","text":"it is done"}],"isError":false}'
        ;;
    *'"method":"ping"'*) answer "$id" '{}' ;;
    *'"method":"notifications/'*) ;;
    *) [ -n "$id" ] && fail "$id" -32601 'no such method' ;;
    esac
done
