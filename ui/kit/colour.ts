/** A colour as red, green and blue, each 0 to 1. */
type Parts = readonly [number, number, number]

const partsOf = (hex: string): Parts => {
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16) / 255
  return [part(1), part(3), part(5)]
}

const hexOf = (parts: Parts): string =>
  `#${parts
    .map((part) => Math.round(part * 255).toString(16))
    .map((two) => two.padStart(2, "0"))
    .join("")}`

/** So much of another colour put into one; colours are #rrggbb, `share` is 0 to 1. */
export function mixed(hex: string, other: string, share: number): string {
  const [[r, g, b], [r2, g2, b2]] = [partsOf(hex), partsOf(other)]
  const between = (from: number, to: number) => from + (to - from) * share
  return hexOf([between(r, r2), between(g, g2), between(b, b2)])
}

/** WCAG 2.2, relative luminance. */
function luminance(hex: string): number {
  const linear = (part: number) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  const [r, g, b] = partsOf(hex)
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

/** WCAG 2.2, contrast ratio: 1 to 21. */
export function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

const least = (hex: string, backs: readonly string[]) =>
  Math.min(...backs.map((back) => contrast(hex, back)))

/** White or black, whichever stands out more. */
export const onto = (back: string): string =>
  contrast("#ffffff", back) >= contrast("#000000", back) ? "#ffffff" : "#000000"

/** WCAG 2.2 §1.4.3. */
export const textContrast = 4.5

/**
 * A colour as near as can be to the one that is wanted, which can be read on each of these: put
 * so far towards black or white as that takes.
 */
export function legible(wanted: string, backs: readonly string[], ratio = textContrast): string {
  const towards = least("#ffffff", backs) >= least("#000000", backs) ? "#ffffff" : "#000000"
  for (let step = 0; step < 20; step++) {
    const tried = mixed(wanted, towards, step / 20)
    if (least(tried, backs) >= ratio) return tried
  }
  return towards
}
