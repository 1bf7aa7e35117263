"""Does on the wire what the public package does, as far as one job at a time needs. Tests and the stopwatch use it where there is none."""
import json, os, sys, urllib.request

def send(url, body=None):
    key = os.environ["RUNPOD_AI_API_KEY"]
    request = urllib.request.Request(url, body and json.dumps(body).encode(), {"Authorization": key})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, answer.read()

class serverless:
    def start(config):
        worker = os.environ["RUNPOD_POD_ID"]
        while True:
            status, text = send(os.environ["RUNPOD_WEBHOOK_GET_JOB"].replace("$ID", worker))
            if status != 200: continue
            job = json.loads(text)
            done = os.environ["RUNPOD_WEBHOOK_POST_OUTPUT"].replace("$RUNPOD_POD_ID", worker).replace("$ID", job["id"])
            send(done, {"output": config["handler"](job)})
