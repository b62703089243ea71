import type { DescMethodUnary } from "@bufbuild/protobuf"
import type { ComponentType } from "react"
import type {
  DomainPolicy,
  LabelPolicy,
  LockoutPolicy,
  LoginPolicy,
  NotificationPolicy,
  PasswordAgePolicy,
  PasswordComplexityPolicy,
  PrivacyPolicy,
} from "../../../src/gen/core/policy/v1/policy_pb.ts"
import type { Amount } from "../form/index.ts"
import type { AnyOf, MessageField, Operation, TextKey } from "../shell/index.ts"

type PolicyMessage =
  | (DomainPolicy | LabelPolicy | LockoutPolicy | LoginPolicy)
  | (NotificationPolicy | PasswordAgePolicy | PasswordComplexityPolicy | PrivacyPolicy)

/** The message of any policy: it has the fields of its kind. */
export type PolicyFields = AnyOf<PolicyMessage>

/** Reads a policy. */
type Read<Message = PolicyFields> = Operation<object, { policy?: Message | undefined }>

/** How a field is asked for and shown. */
type Kind =
  | {
      readonly kind: "check"
      /** Whether the label states the opposite of the field: "Allow", for a field that disables. */
      readonly isInverted?: boolean
    }
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
  readonly name: MessageField<PolicyMessage>
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
  readonly preview?: ComponentType<{ readonly values: Values; readonly place: PolicyOwner }>
  /** What belongs to it and is changed by itself. */
  readonly more?: ComponentType<MoreProps>
  readonly instance: {
    readonly get: Read
    readonly update: DescMethodUnary
    /** What makes it hold, where changing alone doesn't. */
    readonly activate?: DescMethodUnary
  }
  readonly organization: {
    readonly get: Read
    /** What holds there while the organisation says nothing of its own. */
    readonly inherited: Read
    readonly add: DescMethodUnary
    /**
     * Reads what else belongs to the inherited policy, before the organization has one of its own.
     * What it resolves to adds the same to the organization's policy.
     */
    readonly copyInherited?: (place: PolicyOwner) => Promise<() => Promise<void>>
    readonly update: DescMethodUnary
    readonly activate?: DescMethodUnary
    readonly reset: DescMethodUnary
  }
}

export type MoreProps = {
  readonly place: PolicyOwner
  readonly values: Values
  /** Whether this place says it itself. */
  readonly isHere: boolean
  /** What changes it, for who may. */
  readonly change: DescMethodUnary
}

/** The organisation that says it; undefined: the instance. */
export type PolicyOwner = string | undefined

/** What a form holds of a policy, by the names of its fields; numbers as they are typed. */
export type Values = Readonly<Record<string, Value>>

export type Value = string | boolean | Amount | readonly string[]

/** A policy each of whose fields exists in the message that is read; others don't compile. */
export const policyOf = <Message extends PolicyMessage>(
  policy: Policy & {
    readonly instance: { readonly get: Read<Message> }
    readonly fields: readonly (Field & { readonly name: MessageField<NoInfer<Message>> })[]
  },
): Policy => policy

/** Texts to which there is a further one, which is called after them. */
type With<Part extends string, Key = TextKey> = Key extends `${infer Text}.${Part}`
  ? Extract<TextKey, Text>
  : never

/** A policy is called what its text ends with. */
const nameIn = (key: TextKey): string => key.slice(key.lastIndexOf(".") + 1)

export const headed = (title: With<"lead">) =>
  ({ name: nameIn(title), title, lead: `${title}.lead` }) as const

/** Fields by their names in messages, which their texts have behind that of their policy. */
export const fieldsOf = <Title extends With<"lead">>(title: Title) => ({
  named: <Name extends string>(name: Name) => ({ name, label: `${title}.${name}` }) as const,
  hinted: <Name extends string>(name: Name) =>
    ({ name, label: `${title}.${name}`, hint: `${title}.${name}.hint` }) as const,
})

/** A field that is so or not. */
export const check = <FieldBase extends object>(field: FieldBase) =>
  ({ ...field, kind: "check" }) as const

/** A field that disables or hides something, under a label that allows or shows it. */
export const inverted = <FieldBase extends object>(field: FieldBase) =>
  ({ ...field, kind: "check", isInverted: true }) as const

/** A field that lasts; `zero` says what none of it means. */
export const lasting = <FieldBase extends object, Zero extends TextKey>(
  field: FieldBase,
  zero: Zero,
) => ({ ...field, kind: "duration", zero }) as const
