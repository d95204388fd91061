"""Training loops that keep the features of every batch, [64, 512] float32: `features.py LOOP --steps 500`.

LOOP is `printed` (steps are printed), `marked` (lowtide.mark tells them and the batch) or `trainer` (Hugging
Face's Trainer with our callback). Each step keeps one tensor of 131,072 bytes.
"""

import argparse
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("loop", choices=["printed", "marked", "trainer"])
parser.add_argument("--steps", type=int, default=500)
parser.add_argument("--seconds", type=float, default=25.0)
args = parser.parse_args()
torch.set_num_threads(1)
features = []


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(256, 512)
        self.outer = torch.nn.Linear(512, 10)

    def forward(self, x, labels=None):
        hidden = torch.relu(self.inner(x))
        features.append(hidden.detach().clone())
        time.sleep(args.seconds / args.steps)
        return {"loss": self.outer(hidden).square().mean()}


def plain(after_step):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(1, args.steps + 1):
        loss = net(torch.randn(64, 256))["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after_step(step)


def trainer():
    from transformers import Trainer, TrainingArguments

    import lowtide.hf

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 64 * 10 * args.steps

        def __getitem__(self, index):
            return {"x": torch.randn(256), "labels": 0}

    settings = TrainingArguments(
        "out", max_steps=args.steps, per_device_train_batch_size=64, save_strategy="no", report_to=[], use_cpu=True
    )
    Trainer(Net(), settings, train_dataset=Data(), callbacks=[lowtide.hf.LowtideCallback(count=1.0)]).train()


if args.loop == "trainer":
    trainer()
elif args.loop == "marked":
    import lowtide

    plain(lambda step: lowtide.mark(step=step, total_steps=args.steps, geometry={"batch": 64}))
else:
    plain(lambda step: print("step %d/%d" % (step, args.steps), flush=True))
