import type { DescField, DescMethodUnary, Message } from "@bufbuild/protobuf"
import type { GenMessage } from "@bufbuild/protobuf/codegenv2"

/** The descriptor of any message with at least these fields. */
type MessageWith<Fields extends object> = GenMessage<Message & Fields> & {
  readonly field: Readonly<Record<keyof Fields & string, DescField>>
}

/** An operation whose request and response have at least these fields. */
export type Operation<Request extends object, Answer extends object = object> = DescMethodUnary<
  MessageWith<Request>,
  MessageWith<Answer>
>

/** Field names of a message, or of all messages of a union. */
export type MessageField<Messages> = Messages extends unknown
  ? Exclude<keyof Messages, "$typeName" | "$unknown">
  : never

type ValueIn<Messages, Name> = Messages extends unknown
  ? Name extends keyof Messages
    ? Messages[Name]
    : never
  : never

/** A message of a union, with all of their fields optional. */
export type AnyOf<Messages> = {
  readonly [Name in MessageField<Messages>]?: ValueIn<Messages, Name>
}
