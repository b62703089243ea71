import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  LoginVersion as LoginVersionMessage,
  LoginVersionSchema,
} from "../../../gen/core/application/v2/application_pb.ts"
import type { LoginVersion } from "../model.ts"

/** The login version of a request; undefined if it contains none. */
export function loginVersionOf(message: LoginVersionMessage | undefined): LoginVersion | undefined {
  if (!message) return undefined
  const { version } = message
  if (version.case === "loginV2") return { version: "v2", baseUri: version.value.baseUri ?? "" }
  return version.case === "loginV1" ? { version: "v1" } : { version: "unspecified" }
}

/** A login version as a message of the API. */
export function toLoginVersion(login: LoginVersion): MessageInitShape<typeof LoginVersionSchema> {
  if (login.version === "unspecified") return {}
  if (login.version === "v1") return { version: { case: "loginV1", value: {} } }
  return { version: { case: "loginV2", value: { baseUri: login.baseUri } } }
}
