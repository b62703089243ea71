// Every customizable login text is shown on a page, or has a reason why not.
import type { DescMessage } from "@bufbuild/protobuf"
import { describe, expect, it } from "vitest"
import { toPageTexts } from "../../src/domain/text/field/login.ts"
import { unshownFields } from "../../src/domain/text/field/unshown.ts"
import { SetCustomLoginTextsRequestSchema as OfInstance } from "../../src/gen/core/admin/v1/text_pb.ts"
import { SetCustomLoginTextsRequestSchema as OfOrg } from "../../src/gen/core/management/v1/text_pb.ts"
import { LoginCustomTextSchema } from "../../src/gen/core/text/v1/text_pb.ts"
import { renderPage } from "../../ui/login/index.ts"
import { translatorWithTexts } from "../../ui/login/texts/index.ts"
import { wordedPages } from "../support/worded-pages.tsx"

/** The fields of a message of login texts, as `block.field`. */
const fieldsOf = (message: DescMessage): string[] =>
  message.fields.flatMap(({ message: block, localName }) =>
    block?.typeName.startsWith("core.text.v1.")
      ? block.fields.map((field) => `${localName}.${field.localName}`)
      : [],
  )

const fields = [OfInstance, OfOrg, LoginCustomTextSchema].flatMap(fieldsOf)
const allFields = [...new Set(fields)]

/** All pages, where each field renders its own name. */
const isShown = (field: string): boolean => {
  const spoken = translatorWithTexts("en", toPageTexts({ [field]: `says ${field}` }))
  return wordedPages(spoken).some((page) => renderPage(page).includes(`says ${field}`))
}

describe("a login text", () => {
  it("has a field for every text of the pages", () => {
    expect(allFields.length).toBeGreaterThan(200)
  })

  it.each(allFields.filter((field) => !(field in unshownFields)))(
    "%s is shown on a page",
    (field) => {
      expect(isShown(field)).toBe(true)
    },
  )

  it("is not shown on a page if it has a reason", () => {
    const known = Object.entries(unshownFields)
    expect(known.filter(([field]) => isShown(field))).toEqual([])
    expect(known.filter(([field]) => !allFields.includes(field))).toEqual([])
    expect(known.filter(([, reason]) => reason.length < 20)).toEqual([])
  })
})
