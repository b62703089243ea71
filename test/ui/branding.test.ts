import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { label } from "../../src/domain/policy/index.ts"
import {
  type Branding,
  createBrandingStylesheet,
  createPalette,
  defaultColors,
  defaultPolicyColors,
  isBranded,
  modes,
} from "../../ui/kit/branding.ts"
import { contrast, ensureContrast } from "../../ui/kit/color.ts"

const css = readFileSync(new URL("../../ui/kit/tokens.css", import.meta.url), "utf8")

const colors = ["#000000", "#ffffff", "#ffff00", "#0000ff", "#7f7f7f", "#ff0000", "#fafafa"]

/** Foreground and background colors, with the minimum contrast. */
const pairs = [
  ...["page", "surface", "sunken", "accent-quiet"].map(
    (back) => ["text-quiet", back, 4.5] as const,
  ),
  ["text", "surface", 4.5],
  ["text", "page", 4.5],
  ["accent", "surface", 4.5],
  ["accent", "page", 4.5],
  ["on-accent", "accent", 4.5],
  ["on-accent", "accent-strong", 4.5],
  ["danger", "surface", 4.5],
  ["danger", "danger-quiet", 4.5],
  ["danger-strong", "danger-quiet", 4.5],
  ["control-line", "surface", 3],
] as const

test("has the API's default values", () => {
  expect(label.standard).toMatchObject(defaultPolicyColors)
  expect(isBranded(defaultPolicyColors)).toBe(false)
  expect(createBrandingStylesheet(defaultPolicyColors)).toBe("")
})

test.each(modes)("has the default colors of pages in %s mode", (mode) => {
  for (const [name, colour] of Object.entries(defaultColors[mode])) {
    const found = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(css)
    expect(found?.[mode === "light" ? 1 : 2], name).toBe(colour)
  }
})

describe.each(modes)("with any color in %s mode", (mode) => {
  const field = (name: "primaryColor" | "backgroundColor" | "warnColor" | "fontColor") =>
    mode === "light" ? name : (`${name}Dark` as const)

  test("pages are readable", () => {
    for (const back of colors) {
      for (const front of colors) {
        const chosen: Branding = {
          ...defaultPolicyColors,
          [field("backgroundColor")]: back,
          [field("primaryColor")]: front,
          [field("warnColor")]: front,
          [field("fontColor")]: front,
        }
        const { variables } = createPalette(chosen, mode)
        for (const [one, other, least] of pairs) {
          const ratio = contrast(variables[one] ?? "", variables[other] ?? "")
          expect(ratio, `${one} on ${other}: ${front} on ${back}`).toBeGreaterThanOrEqual(least)
        }
      }
    }
  })

  test("corrects unreadable colors with a notice, and keeps readable ones", () => {
    const faint = mode === "light" ? "#ffee88" : "#222222"
    const clear = mode === "light" ? "#5b2a86" : "#d9c2ff"
    const { corrected } = createPalette(
      { ...defaultPolicyColors, [field("primaryColor")]: faint },
      mode,
    )
    expect(corrected).toMatchObject([{ field: field("primaryColor"), original: faint }])
    expect(corrected[0]?.ratio).toBeLessThan(4.5)
    const kept = createPalette({ ...defaultPolicyColors, [field("primaryColor")]: clear }, mode)
    expect(kept.corrected).toEqual([])
    expect(kept.variables.accent).toBe(clear)
  })
})

test.each([
  ["primaryColor", "light", "accent"],
  ["primaryColorDark", "dark", "accent"],
  ["backgroundColor", "light", "page"],
  ["backgroundColorDark", "dark", "page"],
  ["warnColor", "light", "danger"],
  ["warnColorDark", "dark", "danger"],
  ["fontColor", "light", "text"],
  ["fontColorDark", "dark", "text"],
] as const)("%s matches the page color in %s mode for %s", (field, mode, name) => {
  const colour = (name === "page") === (mode === "light") ? "#fdf6e3" : "#1b1b2f"
  const { variables } = createPalette({ ...defaultPolicyColors, [field]: colour }, mode)
  expect(variables[name]).toBe(colour)
  const other = mode === "light" ? "dark" : "light"
  expect(createPalette({ ...defaultPolicyColors, [field]: colour }, other).variables).toEqual({})
})

test("a theme overrides the browser's preference, and the watermark can be hidden", () => {
  expect(createBrandingStylesheet({ ...defaultPolicyColors, themeMode: "dark" })).toContain(
    "color-scheme:dark!important",
  )
  expect(createBrandingStylesheet({ ...defaultPolicyColors, disableWatermark: true })).toContain(
    ".mark{display:none}",
  )
})

test("a readable color is unchanged", () => {
  expect(ensureContrast("#123456", ["#ffffff"])).toBe("#123456")
})
