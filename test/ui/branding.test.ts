import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { label } from "../../src/domain/policy/index.ts"
import {
  type Branding,
  brandingSheet,
  delivered,
  isBranded,
  modes,
  paletteOf,
  unsaid,
} from "../../ui/kit/branding.ts"
import { contrast, legible } from "../../ui/kit/colour.ts"

const css = readFileSync(new URL("../../ui/kit/tokens.css", import.meta.url), "utf8")

const colours = ["#000000", "#ffffff", "#ffff00", "#0000ff", "#7f7f7f", "#ff0000", "#fafafa"]

/** What is drawn on what, and how much it must stand out. */
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

test("knows what the interface answers where nobody has said anything", () => {
  expect(label.standard).toMatchObject(unsaid)
  expect(isBranded(unsaid)).toBe(false)
  expect(brandingSheet(unsaid)).toBe("")
})

test.each(modes)("knows the colours that pages have by themselves in the %s", (mode) => {
  for (const [name, colour] of Object.entries(delivered[mode])) {
    const found = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(css)
    expect(found?.[mode === "light" ? 1 : 2], name).toBe(colour)
  }
})

describe.each(modes)("whatever is chosen in the %s", (mode) => {
  const field = (name: "primaryColor" | "backgroundColor" | "warnColor" | "fontColor") =>
    mode === "light" ? name : (`${name}Dark` as const)

  test("pages can be read", () => {
    for (const back of colours) {
      for (const front of colours) {
        const chosen: Branding = {
          ...unsaid,
          [field("backgroundColor")]: back,
          [field("primaryColor")]: front,
          [field("warnColor")]: front,
          [field("fontColor")]: front,
        }
        const { variables } = paletteOf(chosen, mode)
        for (const [one, other, least] of pairs) {
          const ratio = contrast(variables[one] ?? "", variables[other] ?? "")
          expect(ratio, `${one} on ${other}: ${front} on ${back}`).toBeGreaterThanOrEqual(least)
        }
      }
    }
  })

  test("is said to be corrected where it could not be read, and kept where it can", () => {
    const faint = mode === "light" ? "#ffee88" : "#222222"
    const clear = mode === "light" ? "#5b2a86" : "#d9c2ff"
    const { corrected } = paletteOf({ ...unsaid, [field("primaryColor")]: faint }, mode)
    expect(corrected).toMatchObject([{ field: field("primaryColor"), chosen: faint }])
    expect(corrected[0]?.ratio).toBeLessThan(4.5)
    const kept = paletteOf({ ...unsaid, [field("primaryColor")]: clear }, mode)
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
] as const)("%s is what pages in the %s call %s", (field, mode, name) => {
  const colour = (name === "page") === (mode === "light") ? "#fdf6e3" : "#1b1b2f"
  const { variables } = paletteOf({ ...unsaid, [field]: colour }, mode)
  expect(variables[name]).toBe(colour)
  const other = mode === "light" ? "dark" : "light"
  expect(paletteOf({ ...unsaid, [field]: colour }, other).variables).toEqual({})
})

test("a theme holds whatever a browser prefers, and our sign goes where that is wanted", () => {
  expect(brandingSheet({ ...unsaid, themeMode: "dark" })).toContain("color-scheme:dark!important")
  expect(brandingSheet({ ...unsaid, disableWatermark: true })).toContain(".mark{display:none}")
})

test("a colour that can be read stays as it is", () => {
  expect(legible("#123456", ["#ffffff"])).toBe("#123456")
})
