"""One step of a diffusion sampler with its constants gathered on the device (DDIM with noise, Song et al., 2021).

table: [5, steps], the schedule; t: integer timesteps, one a sample, shaped to broadcast against the images. Nothing
leaves the device, so the step can be captured in a CUDA graph.
"""


def denoise(eps, sample, noise, table, t):
    x0 = clamp((sample - table[0, t] * eps) * table[1, t], -1, 1)
    return table[2, t] * x0 + table[3, t] * sample + table[4, t] * noise
