"""From rows to a batch. The collator keeps nothing; `leaks.py` has one that does.

Only the answer's tokens count in the loss: all other labels are masked, in place.
"""

import torch

IGNORED = -100
PROMPT = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>%s<|im_end|>\n<|im_start|>assistant\n"
ANSWER = "%s<|im_end|>\n"


class Collator:
    def __init__(self, processor):
        self.processor = processor

    def __call__(self, rows):
        texts = [PROMPT % row["question"] + ANSWER % row["answer"] for row in rows]
        batch = self.processor(
            text=texts, images=[[row["image"]] for row in rows], padding=True, return_tensors="pt"
        )
        batch["labels"] = self.labels(batch, rows)
        return dict(batch)

    def labels(self, batch, rows):
        """The answer's tokens at their places (the end of each row before its padding)."""
        ids = batch["input_ids"]
        labels = torch.full_like(ids, IGNORED)
        for number, row in enumerate(rows):
            answer = self.processor.tokenizer(ANSWER % row["answer"], add_special_tokens=False)["input_ids"]
            end = int(batch["attention_mask"][number].sum())
            labels[number, end - len(answer) : end] = ids[number, end - len(answer) : end]
        return labels
