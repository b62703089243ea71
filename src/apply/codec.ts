import {
  type DescMethod,
  fromJson,
  type JsonObject,
  type Message,
  toJson,
} from "@bufbuild/protobuf"
import { isObject } from "./json.ts"

/**
 * Parses a described request into a message and formats the response as JSON for the comparison.
 */
export const codecOf = ({ input, output }: DescMethod, request: JsonObject) => ({
  decode: (): Message => fromJson(input, request),
  encode: (answer: Message): JsonObject => {
    const text = toJson(output, answer)
    return isObject(text) ? text : {}
  },
})
