import { authorizationCode } from "./authorization-code.ts"
import { clientCredentials } from "./client-credentials.ts"
import type { Grant } from "./grant.ts"
import { jwtBearer } from "./jwt-bearer.ts"
import { refreshToken } from "./refresh-token.ts"

/** Every way to get tokens; a new one is a file and a line here. */
export const grants: readonly Grant[] = [
  authorizationCode,
  clientCredentials,
  jwtBearer,
  refreshToken,
]
