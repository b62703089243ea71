import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"

const css = readFileSync(join(import.meta.dirname, "../../ui/kit/tokens.css"), "utf8")
const pattern = /--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g
const colors = new Map(
  [...css.matchAll(pattern)].map(([, name, light, dark]) => [name, { light, dark }]),
)

/** WCAG 2.2, relative luminance and contrast ratio. */
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

const text = 4.5
const control = 3
const pairs: [front: string, back: string, least: number][] = [
  ...["page", "surface", "sunken", "accent-quiet"].flatMap((back): [string, string, number][] => [
    ["text", back, text],
    ["text-quiet", back, text],
  ]),
  ["text", "warning-quiet", text],
  ["accent", "surface", text],
  ["accent", "page", text],
  ["on-accent", "accent", text],
  ["on-accent", "accent-strong", text],
  ["danger", "surface", text],
  ["danger", "danger-quiet", text],
  ["danger-strong", "danger-quiet", text],
  ["warning", "warning-quiet", text],
  ["done", "done-quiet", text],
  ["control-line", "surface", control],
]

describe.each(["light", "dark"] as const)("colors in %s mode", (mode) => {
  it.each(pairs)("%s on %s have a contrast of at least %d : 1", (front, back, least) => {
    const one = colors.get(front)?.[mode] ?? ""
    const other = colors.get(back)?.[mode] ?? ""
    expect(contrast(one, other)).toBeGreaterThanOrEqual(least)
  })
})
