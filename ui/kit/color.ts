/** Red, green and blue, each 0 to 1. */
type Rgb = readonly [number, number, number]

const parseHex = (hex: string): Rgb => {
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16) / 255
  return [part(1), part(3), part(5)]
}

const formatHex = (parts: Rgb): string =>
  `#${parts
    .map((part) => Math.round(part * 255).toString(16))
    .map((two) => two.padStart(2, "0"))
    .join("")}`

/** Mixes a share (0 to 1) of another color into a color; colors are #rrggbb. */
export function mix(hex: string, other: string, share: number): string {
  const [[r, g, b], [r2, g2, b2]] = [parseHex(hex), parseHex(other)]
  const between = (from: number, to: number) => from + (to - from) * share
  return formatHex([between(r, r2), between(g, g2), between(b, b2)])
}

/** WCAG 2.2, relative luminance. */
function luminance(hex: string): number {
  const linear = (part: number) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  const [r, g, b] = parseHex(hex)
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

/** WCAG 2.2, contrast ratio: 1 to 21. */
export function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

const minContrast = (hex: string, backs: readonly string[]) =>
  Math.min(...backs.map((back) => contrast(hex, back)))

/** White or black, whichever has more contrast. */
export const readableOn = (back: string): string =>
  contrast("#ffffff", back) >= contrast("#000000", back) ? "#ffffff" : "#000000"

/** WCAG 2.2 §1.4.3. */
export const textContrast = 4.5

/**
 * The nearest color with sufficient contrast on all backgrounds; mixes in black or white as needed.
 */
export function ensureContrast(
  color: string,
  backs: readonly string[],
  ratio = textContrast,
): string {
  const towards =
    minContrast("#ffffff", backs) >= minContrast("#000000", backs) ? "#ffffff" : "#000000"
  for (let step = 0; step < 20; step++) {
    const mixedColor = mix(color, towards, step / 20)
    if (minContrast(mixedColor, backs) >= ratio) return mixedColor
  }
  return towards
}
