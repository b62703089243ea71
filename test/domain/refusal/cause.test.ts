import { describe, expect, test } from "vitest"
import { causes, likelyCauseOf } from "../../../src/domain/refusal/cause.ts"
import en from "../../../ui/console/shell/texts/pages.en.json"

describe("the probable causes", () => {
  test("are in the console's catalog, with the API's wording", () => {
    const shown = Object.entries(en).filter(([key]) => key.startsWith("cause."))
    const told = Object.entries(causes).map(([key, text]) => [`cause.${key}`, text])
    expect(shown).toEqual(told)
  })

  test("name their subject", () => {
    expect(likelyCauseOf("redirect_uri", "address.none")).toEqual({
      likelyCause: "The application has no registered redirect_uri.",
      likelyCauseKey: "address.none",
    })
  })
})
