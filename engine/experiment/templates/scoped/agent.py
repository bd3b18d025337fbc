"""A scripted agent: it stands where an AI agent would.

It sees this folder and what seer.yaml serves, and nothing else.
"""
import json
import os

import model_tools

info = model_tools.get_model_info()
print("the model knows", len(info["vocabulary"]), "words")

answer = model_tools.next_words("the", top=2)
for word, probability in answer.items():
    print("the", word, format(probability, ".2f"))

os.makedirs("outputs", exist_ok=True)
with open(os.path.join("outputs", "answer.json"), "w", encoding="utf-8") as f:
    json.dump(answer, f, indent=2)
