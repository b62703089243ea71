// Every login text that can be set is shown by a page, or it is said why none shows it.
import type { DescMessage } from "@bufbuild/protobuf"
import { describe, expect, it } from "vitest"
import { onPages } from "../../src/domain/text/field/login.ts"
import { unshownFields } from "../../src/domain/text/field/unshown.ts"
import { SetCustomLoginTextsRequestSchema as OfInstance } from "../../src/gen/core/admin/v1/text_pb.ts"
import { SetCustomLoginTextsRequestSchema as OfOrg } from "../../src/gen/core/management/v1/text_pb.ts"
import { LoginCustomTextSchema } from "../../src/gen/core/text/v1/text_pb.ts"
import { renderPage } from "../../ui/login/index.ts"
import { translatorSaying } from "../../ui/login/texts/index.ts"
import { wordedPages } from "../support/worded-pages.tsx"

/** The fields of a message of login texts, as `block.field`. */
const fieldsOf = (message: DescMessage): string[] =>
  message.fields.flatMap(({ message: block, localName }) =>
    block?.typeName.startsWith("core.text.v1.")
      ? block.fields.map((field) => `${localName}.${field.localName}`)
      : [],
  )

const fields = [OfInstance, OfOrg, LoginCustomTextSchema].flatMap(fieldsOf)
const all = [...new Set(fields)]

/** All pages, where each field says its own name. */
const isShown = (field: string): boolean => {
  const spoken = translatorSaying("en", onPages({ [field]: `says ${field}` }))
  return wordedPages(spoken).some((page) => renderPage(page).includes(`says ${field}`))
}

describe("a login text", () => {
  it("has a field for each thing that pages say", () => {
    expect(all.length).toBeGreaterThan(200)
  })

  it.each(all.filter((field) => !(field in unshownFields)))("%s is shown by a page", (field) => {
    expect(isShown(field)).toBe(true)
  })

  it("is shown by no page where a reason says why not", () => {
    const known = Object.entries(unshownFields)
    expect(known.filter(([field]) => isShown(field))).toEqual([])
    expect(known.filter(([field]) => !all.includes(field))).toEqual([])
    expect(known.filter(([, reason]) => reason.length < 20)).toEqual([])
  })
})
