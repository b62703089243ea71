import type { DescMethodUnary } from "@bufbuild/protobuf"
import type { ComponentType } from "react"
import type { Amount } from "../form/index.ts"
import type { TextKey } from "../shell/index.ts"

/** How a field is asked for and shown. */
type Kind =
  | { readonly kind: "check" }
  /** A whole number; `zero` says what none of it means. */
  | {
      readonly kind: "count"
      readonly min: number
      readonly max: number
      readonly zero?: TextKey
    }
  /** #rrggbb; empty while pages keep the colour that they have by themselves. */
  | {
      readonly kind: "color"
      /** What the interface answers then. */
      readonly unsaid: string
      /** What pages have then. */
      readonly delivered: string
    }
  /** A time; `zero` says what none of it means. */
  | { readonly kind: "duration"; readonly zero?: TextKey }
  /** A text, or nothing, for which `empty` stands. */
  | {
      readonly kind: "text"
      readonly type: "url" | "email" | "text"
      readonly empty: TextKey
    }
  /** One of an enum, by its numbers. */
  | { readonly kind: "choice"; readonly options: readonly Option[] }
  /** Any of an enum, by their numbers; operations of their own say so of each. */
  | {
      readonly kind: "several"
      readonly options: readonly Option[]
      readonly instance: OneByOne
      readonly organization: OneByOne
    }

type Option = { readonly value: string; readonly label: TextKey }

/** What allows one more, and one less. */
type OneByOne = { readonly add: DescMethodUnary; readonly remove: DescMethodUnary }

/** One field of a policy, by its name in the messages, with its words. */
export type Field = Kind & {
  readonly name: string
  readonly label: TextKey
  readonly hint?: TextKey
}

/** One policy: what is asked for, and the operations that read and write it. */
export type Policy = {
  readonly name: string
  readonly title: TextKey
  readonly lead: TextKey
  readonly fields: readonly Field[]
  /** What the form's values look like, beside them. */
  readonly preview?: ComponentType<{ readonly values: Values; readonly place: Place }>
  /** What belongs to it and is changed by itself. */
  readonly more?: ComponentType<MoreProps>
  readonly instance: {
    readonly get: DescMethodUnary
    readonly update: DescMethodUnary
    /** What makes it hold, where changing alone doesn't. */
    readonly activate?: DescMethodUnary
  }
  readonly organization: {
    readonly get: DescMethodUnary
    /** What holds there while the organisation says nothing of its own. */
    readonly inherited: DescMethodUnary
    readonly add: DescMethodUnary
    /** What else belongs to it, said one by one: an own one begins with what was so before. */
    readonly carries?: {
      readonly list: DescMethodUnary
      readonly add: DescMethodUnary
      /** What both call one of them. */
      readonly id: string
    }
    readonly update: DescMethodUnary
    readonly activate?: DescMethodUnary
    readonly reset: DescMethodUnary
  }
}

export type MoreProps = {
  readonly place: Place
  readonly values: Values
  /** Whether this place says it itself. */
  readonly isHere: boolean
  /** What changes it, for who may. */
  readonly change: DescMethodUnary
}

/** The organisation that says it; undefined: the instance. */
export type Place = string | undefined

/** What a form holds of a policy, by the names of its fields; numbers as they are typed. */
export type Values = Readonly<Record<string, Value>>

export type Value = string | boolean | Amount | readonly string[]

/** Texts to which there is a further one, which is called after them. */
type With<Part extends string, Key = TextKey> = Key extends `${infer Text}.${Part}`
  ? Extract<TextKey, Text>
  : never

/** A policy, or a field, is called in the messages what its text ends with. */
const nameIn = (key: TextKey): string => key.slice(key.lastIndexOf(".") + 1)

export const headed = (title: With<"lead">) =>
  ({ name: nameIn(title), title, lead: `${title}.lead` }) as const

export const named = (label: TextKey) => ({ name: nameIn(label), label })

export const hinted = (label: With<"hint">) => ({ ...named(label), hint: `${label}.hint` }) as const

type Named = Pick<Field, "name" | "label" | "hint">

/** A field that is so or not. */
export const check = (field: Named): Field => ({ ...field, kind: "check" })

/** A field that lasts; `zero` says what none of it means. */
export const lasting = (field: Named, zero: TextKey): Field => ({
  ...field,
  kind: "duration",
  zero,
})
