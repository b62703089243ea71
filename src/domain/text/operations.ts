import { contextOrg } from "../../kernel/context.ts"
import { createSelection, type MaskedRequest } from "../../protocol/api/mask.ts"
import { toDetails } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import {
  type EffectiveTexts,
  findDefault,
  findText,
  resetText,
  setText,
  type TextOwner,
} from "./commands.ts"
import type { Texts } from "./model.ts"
import type { TextTemplate } from "./template.ts"

/** Converts the texts of a template from and to v1 messages. */
type TextConversion<Requested, TextMessage> = {
  readonly parse: (requested: Requested) => Texts
  readonly format: (texts: Texts) => TextMessage
}

/** The field of a request that contains a text: the field itself, or its block. */
const fieldOf = (name: string): string => name.split(".")[0] ?? name

const pickTexts = (texts: Texts, isIncluded: (name: string) => boolean): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([name]) => isIncluded(name)))

type LanguageRequest = { readonly language: string }

/** The v1 operations on a template, which are the same for all templates. */
export function operationsOf<Requested, TextMessage>(
  template: TextTemplate,
  { parse, format }: TextConversion<Requested, TextMessage>,
) {
  const display = ({ texts, isDefault, receipt }: EffectiveTexts) => ({
    customText: { ...format(texts), isDefault, details: toDetails(receipt) },
  })
  const at = (placeOf: (cx: Cx) => TextOwner) => ({
    get: ({ language }: LanguageRequest, cx: Cx) =>
      display(findText(cx, placeOf(cx), { template, language })),
    set: async (requested: LanguageRequest & Requested & MaskedRequest, cx: Cx) => {
      const localized = { template, language: requested.language }
      const isSelected = createSelection(requested)
      const requestedTexts = parse(requested)
      const applyUpdate = (before: Texts) => ({
        ...pickTexts(before, (name) => !isSelected(fieldOf(name))),
        ...pickTexts(requestedTexts, (name) => isSelected(fieldOf(name))),
      })
      const texts = requested.updateMask ? applyUpdate : applyUpdate({})
      return { details: toDetails(await setText(cx, placeOf(cx), localized, texts)) }
    },
    reset: async ({ language }: LanguageRequest, cx: Cx) => ({
      details: toDetails(await resetText(cx, placeOf(cx), { template, language })),
    }),
  })
  return {
    instance: {
      ...at(() => undefined),
      /** The default texts. */
      standard: ({ language }: LanguageRequest, cx: Cx) =>
        display(findDefault(cx, { template, language })),
    },
    /** The texts of the context organization. */
    org: at(contextOrg),
  }
}
