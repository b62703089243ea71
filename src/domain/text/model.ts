import { aggregate, type Event } from "../../store/index.ts"
import { authorsAfter, type PartialUpdate } from "../policy/index.ts"

/** Where something is said: for the whole instance, or by one organisation for itself. */
type Level = "instance" | "org"

/** What was meant, for whoever reads the log: the stream's own id says it, too. */
export type Meant = { readonly template: string; readonly language: string }

/** Texts by the keys of their template; whatever isn't among them, the place above says. */
export type Texts = Readonly<Record<string, string>>

type SetType = `${Level}.customtext.set`

type RemovedType = `${Level}.customtext.template.removed`

export type TextEvent =
  | { [Type in SetType]: Event<Type, Meant & PartialUpdate, { readonly texts: Texts }> }[SetType]
  | { [Type in RemovedType]: Event<Type, Meant> }[RemovedType]

/** What one place says with one template in one language; no texts: nothing of its own. */
export type CustomText = {
  readonly texts?: Texts
  /** The users who set them. */
  readonly authors?: readonly string[]
}

type Set = {
  readonly data: PartialUpdate
  readonly private: { readonly texts: Texts } | null
  readonly editor: { readonly user: string }
}

const set = ({ authors = [] }: CustomText, { data, private: secret, editor }: Set): CustomText =>
  secret ? { texts: secret.texts, authors: authorsAfter(authors, editor.user, data) } : {}

const removed = (): CustomText => ({})

/** Each text has a stream of its own, so that a small change stays small. */
export const customText = aggregate<TextEvent, CustomText>({
  stream: "customtext",
  part: () => "texts",
  revision: 3,
  initial: {},
  evolve: {
    "instance.customtext.set": set,
    "instance.customtext.template.removed": removed,
    "org.customtext.set": set,
    "org.customtext.template.removed": removed,
  },
})
