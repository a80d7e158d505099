"""Train a small diffusion model with Ingot's ops and the same model in eager PyTorch: the loss curves agree.

    python examples/train.py

With two convolutions, the model predicts the noise in a sample. It then takes one step of the sampler with the predicted
noise. The loss compares the result with the result of a step with the true noise.
"""

import pathlib

import torch
from group_norm_mish import group_norm_mish

import ingot

STEPS, BATCH, TIMESTEPS = 40, 32, 50

denoise = ingot.op((pathlib.Path(__file__).parent / "denoise.py").read_text())


class Denoiser(torch.nn.Module):
    def __init__(self, mish=group_norm_mish, step=denoise):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv1d(4, 64, 5, padding=2), torch.nn.GroupNorm(8, 64)
        self.out = torch.nn.Conv1d(64, 4, 1)
        self.mish, self.step = mish, step

    def forward(self, sample, noise, table, t):
        h = self.mish(self.conv(sample), self.norm.weight, self.norm.bias)
        return self.step(self.out(h), sample, noise, table, t)


def losses(model, device) -> list[float]:
    """Return the loss of each step. The data depend only on the seed."""
    generator = torch.Generator(device).manual_seed(1)
    table = torch.rand(5, TIMESTEPS, device=device, generator=generator)
    optimiser, curve = torch.optim.AdamW(model.parameters(), lr=3e-3), []
    for _ in range(STEPS):
        eps, clean, noise = torch.randn(3, BATCH, 4, 64, device=device, generator=generator)
        t = torch.randint(TIMESTEPS, (BATCH, 1, 1), device=device, generator=generator)
        sample = clean.cumsum(-1) / 8 + eps
        expected = denoise(eps, sample, noise, table, t)

        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(model(sample, noise, table, t), expected)
        loss.backward()
        optimiser.step()
        curve.append(loss.item())
    return curve


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    fused = Denoiser().to(device)
    eager = Denoiser(group_norm_mish.reference, denoise.reference).to(device)
    eager.load_state_dict(fused.state_dict())

    before = ingot.counters()
    fused_losses = losses(fused, device)
    spent = ingot.counters().since(before)
    eager_losses = losses(eager, device)

    print("step     ingot     eager")
    for k in range(0, STEPS, 3):
        print(f"{k:4}  {fused_losses[k]:8.6f}  {eager_losses[k]:8.6f}")
    difference = max(abs(a / b - 1) for a, b in zip(fused_losses, eager_losses))
    print(f"at most {difference:.1e} apart; {spent.compiles} compiled, {spent.launches} launched in {STEPS} steps")


if __name__ == "__main__":
    main()
