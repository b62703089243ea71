import {
  type DescMethod,
  fromJson,
  type JsonObject,
  type Message,
  toJson,
} from "@bufbuild/protobuf"
import { isObject } from "./json.ts"

/** How a request that is described becomes a message, and an answer what is compared with it. */
export const codecOf = ({ input, output }: DescMethod, request: JsonObject) => ({
  decode: (): Message => fromJson(input, request),
  encode: (answer: Message): JsonObject => {
    const said = toJson(output, answer)
    return isObject(said) ? said : {}
  },
})
