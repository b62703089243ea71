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

/** The message of any policy, with the fields of its kind. */
export type PolicyFields = AnyOf<PolicyMessage>

/** An operation that reads a policy. */
type ReadOperation<Message = PolicyFields> = Operation<object, { policy?: Message | undefined }>

/** How a field is edited and shown. */
type FieldKind =
  | {
      readonly kind: "check"
      /** Whether the label states the opposite of the field: "Allow", for a field that disables. */
      readonly isInverted?: boolean
    }
  /** An integer; `zero` is the text for 0. */
  | {
      readonly kind: "count"
      readonly min: number
      readonly max: number
      readonly zero?: TextKey
    }
  /** #rrggbb; empty for the default color. */
  | {
      readonly kind: "color"
      /** The color that the API returns if none is set. */
      readonly unsaid: string
      /** The color of the pages if none is set. */
      readonly delivered: string
    }
  /** A duration; `zero` is the text for none. */
  | { readonly kind: "duration"; readonly zero?: TextKey }
  /** A text; `empty` is shown if there is none. */
  | {
      readonly kind: "text"
      readonly type: "url" | "email" | "text"
      readonly empty: TextKey
    }
  /** One enum value, by number. */
  | { readonly kind: "choice"; readonly options: readonly FieldOption[] }
  /** Several enum values, by number, each with operations to add and remove it. */
  | {
      readonly kind: "several"
      readonly options: readonly FieldOption[]
      readonly instance: ItemOperations
      readonly organization: ItemOperations
    }

type FieldOption = { readonly value: string; readonly label: TextKey }

/** The operations to add and remove one value. */
type ItemOperations = { readonly add: DescMethodUnary; readonly remove: DescMethodUnary }

/** A policy field: its message field name and texts. */
export type PolicyFieldSpec = FieldKind & {
  readonly name: MessageField<PolicyMessage>
  readonly label: TextKey
  readonly hint?: TextKey
}

/** A policy: its fields, and the operations to read and write it. */
export type PolicyDefinition = {
  readonly name: string
  readonly title: TextKey
  readonly lead: TextKey
  readonly fields: readonly PolicyFieldSpec[]
  /** A preview of the form values, shown next to the form. */
  readonly preview?: ComponentType<{ readonly values: PolicyValues; readonly owner: PolicyOwner }>
  /** A part of the policy with its own forms. */
  readonly Additional?: ComponentType<PolicyPartProps>
  readonly instance: {
    readonly get: ReadOperation
    readonly update: DescMethodUnary
    /** The operation that activates changes, if updating alone doesn't. */
    readonly activate?: DescMethodUnary
  }
  readonly organization: {
    readonly get: ReadOperation
    /** The values that apply while the organization has no policy of its own. */
    readonly inherited: ReadOperation
    readonly add: DescMethodUnary
    /**
     * Reads related data of the inherited policy before the organization gets its own. Resolves to
     * a function that adds the same data to the organization's policy.
     */
    readonly copyInherited?: (owner: PolicyOwner) => Promise<() => Promise<void>>
    readonly update: DescMethodUnary
    readonly activate?: DescMethodUnary
    readonly reset: DescMethodUnary
  }
}

export type PolicyPartProps = {
  readonly owner: PolicyOwner
  readonly values: PolicyValues
  /** Whether the owner has a policy of its own. */
  readonly isOwn: boolean
  /** The operation that updates the policy. */
  readonly change: DescMethodUnary
}

/** The organization that owns the policy, or undefined for the instance. */
export type PolicyOwner = string | undefined

/** Form values of a policy by field name; numbers are kept as typed. */
export type PolicyValues = Readonly<Record<string, PolicyValue>>

export type PolicyValue = string | boolean | Amount | readonly string[]

/** Defines a policy; the compiler checks that each field exists in its message. */
export const definePolicy = <Message extends PolicyMessage>(
  policy: PolicyDefinition & {
    readonly instance: { readonly get: ReadOperation<Message> }
    readonly fields: readonly (PolicyFieldSpec & {
      readonly name: MessageField<NoInfer<Message>>
    })[]
  },
): PolicyDefinition => policy

/** Text keys that have a subordinate text with the given suffix. */
type WithSubtext<Part extends string, Key = TextKey> = Key extends `${infer Text}.${Part}`
  ? Extract<TextKey, Text>
  : never

/** The last segment of a text key. */
const lastSegment = (key: TextKey): string => key.slice(key.lastIndexOf(".") + 1)

export const policyTexts = (title: WithSubtext<"lead">) =>
  ({ name: lastSegment(title), title, lead: `${title}.lead` }) as const

/** Fields by message field name, which is also the suffix of their text keys. */
export const fieldTexts = <Title extends WithSubtext<"lead">>(title: Title) => ({
  named: <Name extends string>(name: Name) => ({ name, label: `${title}.${name}` }) as const,
  hinted: <Name extends string>(name: Name) =>
    ({ name, label: `${title}.${name}`, hint: `${title}.${name}.hint` }) as const,
})

/** A boolean field. */
export const checkField = <FieldBase extends object>(field: FieldBase) =>
  ({ ...field, kind: "check" }) as const

/** A field that disables or hides something, under a label that allows or shows it. */
export const invertField = <FieldBase extends object>(field: FieldBase) =>
  ({ ...field, kind: "check", isInverted: true }) as const

/** A duration field; `zero` is the text for none. */
export const durationField = <FieldBase extends object, Zero extends TextKey>(
  field: FieldBase,
  zero: Zero,
) => ({ ...field, kind: "duration", zero }) as const
