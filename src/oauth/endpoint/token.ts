import type { Cx } from "../../store/index.ts"
import { authenticateClient } from "../client/authentication.ts"
import { OAuthError } from "../error.ts"
import type { Grant } from "../grant/grant.ts"
import { grants } from "../grant/list.ts"
import { formOf, type Parameters, required } from "../request.ts"
import { json } from "../response.ts"
import { type Issuance, issue } from "../token/issue.ts"
import type { Endpoint } from "./endpoint.ts"

/** RFC 6749 §3.2. The phases are the same for every grant, and none can leave one out. */
export const token: Endpoint = {
  methods: ["POST"],
  anyOrigin: true,
  answer: async ({ cx, request }) => {
    const parameters = await formOf(request)
    const grant = grantOf(parameters)
    const authorization = request.headers.get("authorization")
    const allowed = await allow(cx, grant, { parameters, authorization })
    return json(await issue(cx, allowed))
  },
}

function grantOf(parameters: Parameters): Grant {
  const name = required(parameters, "grant_type")
  const grant = grants.find((known) => known.name === name)
  if (grant) return grant
  throw new OAuthError("unsupported_grant_type", "grant_type is not one that discovery names")
}

type Asked = { readonly parameters: Parameters; readonly authorization: string | null }

function allow(cx: Cx, grant: Grant, { parameters, authorization }: Asked): Promise<Issuance> {
  if (grant.client === "none") return grant.allow(cx, { parameters })
  const client = authenticateClient(cx, parameters, authorization)
  return grant.allow(cx, { parameters, client })
}
