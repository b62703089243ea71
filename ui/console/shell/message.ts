import type { DescField, DescMethodUnary, Message } from "@bufbuild/protobuf"
import type { GenMessage } from "@bufbuild/protobuf/codegenv2"

/** The descriptor of any message that has these fields, among others. */
type MessageWith<Fields extends object> = GenMessage<Message & Fields> & {
  readonly field: Readonly<Record<keyof Fields & string, DescField>>
}

/** An operation of any service whose request and answer have these fields, among others. */
export type Operation<Request extends object, Answer extends object = object> = DescMethodUnary<
  MessageWith<Request>,
  MessageWith<Answer>
>

/** The names of the fields of a message, or of the messages of a union. */
export type MessageField<Messages> = Messages extends unknown
  ? Exclude<keyof Messages, "$typeName" | "$unknown">
  : never

type ValueIn<Messages, Name> = Messages extends unknown
  ? Name extends keyof Messages
    ? Messages[Name]
    : never
  : never

/** Any message of a union: each has some of their fields. */
export type AnyOf<Messages> = {
  readonly [Name in MessageField<Messages>]?: ValueIn<Messages, Name>
}
