import { authorizationCode } from "./authorization-code.ts"
import { clientCredentials } from "./client-credentials.ts"
import { deviceCode } from "./device-code.ts"
import type { Grant } from "./grant.ts"
import { jwtBearer } from "./jwt-bearer.ts"
import { refreshToken } from "./refresh-token.ts"
import { tokenExchange } from "./token-exchange.ts"

/** All grant types; a new one needs a file and a line here. */
export const grants: readonly Grant[] = [
  authorizationCode,
  clientCredentials,
  deviceCode,
  jwtBearer,
  refreshToken,
  tokenExchange,
]
