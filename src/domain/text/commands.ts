import { Fault } from "../../kernel/fault.ts"
import { pageLanguages } from "../../kernel/text/language.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { appliesTo } from "../policy/index.ts"
import { customText, type Meant, type TextEvent, type Texts } from "./model.ts"
import type { Template } from "./template.ts"

/** The organisation that says it; undefined: the instance, for whoever says nothing themselves. */
export type Place = string | undefined

/** Ids are callers' choice: one of an organisation may be any text, so it stands last. */
const idOf = (place: Place, { template, language }: Meant): string =>
  `${template}/${language}/${place === undefined ? "instance" : `org/${place}`}`

const levelOf = (place: Place) => (place === undefined ? "instance" : "org")

/** A template in one language. */
export type Asked = { readonly template: Template; readonly language: string }

/** Says at a place what is given, and nothing else; an empty text says nothing. */
export const putText = (cx: Cx, place: Place, asked: Asked, given: Texts): Promise<Receipt> =>
  write(cx, place, asked, (before) => saying(place, asked, { before, given }))

/**
 * The same, or what follows from what the place says so far, which then keeps its authors; refuses
 * what changes nothing.
 */
export const setText = (
  cx: Cx,
  place: Place,
  asked: Asked,
  given: Texts | ((before: Texts) => Texts),
): Promise<Receipt> =>
  write(cx, place, asked, (before) => {
    const texts = typeof given === "function" ? given(before ?? {}) : given
    const isPartial = typeof given === "function"
    const drafts = saying(place, asked, { before, given: texts, isPartial })
    if (drafts.length === 0) throw unchangedError()
    return drafts
  })

type Wording = {
  readonly before: Texts | undefined
  readonly given: Texts
  readonly isPartial?: boolean
}

function saying(
  place: Place,
  asked: Asked,
  { before, given, isPartial = false }: Wording,
): readonly Draft<TextEvent>[] {
  const texts = Object.fromEntries(Object.entries(given).filter(([, text]) => text !== ""))
  for (const [key, text] of Object.entries(texts)) asked.template.check(key, text)
  if (JSON.stringify(sorted(texts)) === JSON.stringify(sorted(before ?? {}))) return []
  const data = meantBy(asked)
  if (Object.keys(texts).length === 0) return [removed(place, data)]
  const set = { ...data, ...(isPartial && { isPartial }) }
  return [{ type: `${levelOf(place)}.customtext.set`, data: set, private: { texts } }]
}

/** Takes back what a place has said: from then on what stands above it counts. */
export const resetText = (cx: Cx, place: Place, asked: Asked): Promise<Receipt> =>
  write(cx, place, asked, (before) => {
    if (!before) throw missingError()
    return [removed(place, meantBy(asked))]
  })

/** Takes back all that an organisation has said, with these names. */
export function dropTexts(tx: Transaction, orgId: string, names: readonly string[]): void {
  for (const template of names) {
    for (const language of pageLanguages) {
      const id = idOf(orgId, { template, language })
      const { texts } = tx.state(customText, id)
      if (texts) tx.append(customText, id, [removed(orgId, { template, language })])
    }
  }
}

/** The texts themselves go as well: they are an organisation's, who may want them forgotten. */
const removed = (place: Place, data: Meant): Draft<TextEvent> => ({
  type: `${levelOf(place)}.customtext.template.removed`,
  data,
  erase: {},
})

async function write(
  cx: Cx,
  place: Place,
  asked: Asked,
  decide: (before: Texts | undefined) => readonly Draft<TextEvent>[],
): Promise<Receipt> {
  checkLanguage(asked.language)
  const id = idOf(place, meantBy(asked))
  const step = await cx.store.transact(cx, (tx) =>
    tx.append(customText, id, decide(tx.state(customText, id).texts), place ?? cx.instance),
  )
  return step.receipt(customText, id)
}

const meantBy = ({ template, language }: Asked): Meant => ({ template: template.name, language })

const sorted = (texts: Texts) => Object.entries(texts).toSorted(([a], [b]) => (a < b ? -1 : 1))

/** What a template says at a place, whole, and who says it: an organisation, or the instance. */
export type Found = {
  readonly texts: Texts
  /** Whether the place itself says nothing. */
  readonly isDefault: boolean
  /** Where what was said stands; version 0 where nobody has said anything. */
  readonly stand: Pick<Receipt, "version" | "created" | "changed" | "owner">
}

/** Finds what a template says at a place. */
export function findText(cx: Cx, place: Place, asked: Asked): Found {
  checkLanguage(asked.language)
  const meant = meantBy(asked)
  const own = place === undefined ? undefined : saidAt(cx, place, meant)
  const above = saidAt(cx, undefined, meant)
  const receipt =
    (own ?? above) ? cx.store.receipt(cx, customText, idOf(own && place, meant)) : undefined
  return {
    texts: { ...asked.template.standard(asked.language), ...above, ...own },
    isDefault: (place === undefined ? above : own) === undefined,
    stand: receipt ?? { version: 0, created: 0, changed: 0, owner: cx.instance },
  }
}

/** Finds what a template says where nobody says anything else. */
export function findStandard(cx: Cx, { template, language }: Asked): Found {
  checkLanguage(language)
  const stand = { version: 0, created: 0, changed: 0, owner: cx.instance }
  return { texts: template.standard(language), isDefault: true, stand }
}

/** What a place itself says with a template; undefined: nothing. */
export const saidAt = (cx: Pick<Cx, "store" | "instance">, place: Place, meant: Meant) =>
  cx.store.state(cx, customText, idOf(place, meant)).texts

/** Where the words for a user are found: not where the user outranks one of their authors. */
export function placeFor(
  cx: Cx,
  { userId, orgId }: { readonly userId: string; readonly orgId: string },
  { template, language }: Asked,
): Place {
  if (orgId === "") return undefined
  const meant = { template: template.name, language }
  const { texts, authors = [] } = cx.store.state(cx, customText, idOf(orgId, meant))
  return texts && appliesTo(cx, userId, authors) ? orgId : undefined
}

export function checkLanguage(language: string): void {
  if (pageLanguages.includes(language)) return
  const message = `language must be one of these: ${pageLanguages.join(", ")}`
  throw new Fault("invalid_argument", "text.language_unknown", message)
}

const missingError = () =>
  new Fault(
    "not_found",
    "text.missing",
    "nothing of its own is said here, so that nothing is reset",
  )

const unchangedError = () =>
  new Fault("failed_precondition", "text.unchanged", "no changes: it is so already")
