"""What needs NVRTC says so where there is none."""
import json
import subprocess
import sys


def needed_by(test, attnc):
    """Ends the test as skipped, unless attnc finds NVRTC."""
    told = subprocess.run([attnc, "doctor", "--json"], capture_output=True, text=True, check=False)
    for fact in json.loads(told.stdout)["findings"]:
        if fact["subject"] == "nvrtc" and not fact["works"]:
            print(f"{test} is skipped: {fact['text']}")
            sys.exit(77)
