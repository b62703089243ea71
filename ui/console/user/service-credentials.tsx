import { AccessTokenType } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Chosen } from "../form/index.ts"
import { Credentials } from "../list/index.ts"
import { call, Section, t } from "../shell/index.ts"
import { ServiceSecret } from "./service-secret.tsx"
import type { UserPart } from "./user.ts"

const { listKeys, addKey, removeKey, updateUser } = UserService.method
const { listPersonalAccessTokens, addPersonalAccessToken, removePersonalAccessToken } =
  UserService.method

/** What a service user proves itself with, from the safest to the simplest. */
export function ServiceCredentials({ user }: UserPart) {
  const { userId, username, type } = user
  if (type.case !== "machine") return null
  const theirs = { filters: [{ filter: { case: "userIdFilter", value: { id: userId } } as const }] }
  return (
    <>
      <Credentials
        family="keys"
        takesPublicKey
        method={listKeys}
        input={theirs}
        find={({ result }) => result}
        needs={{ create: addKey, remove: removeKey }}
        create={async ({ expirationDate, publicKey }) => {
          const wanted = { userId, expirationDate, publicKey }
          const { keyId, keyContent } = await call(addKey, wanted)
          const isOwn = publicKey.length > 0
          return { id: keyId, text: isOwn ? "" : new TextDecoder().decode(keyContent) }
        }}
        remove={(keyId) => call(removeKey, { userId, keyId })}
      />
      <ServiceSecret {...{ userId, username, machine: type.value }} />
      <Credentials
        family="tokens"
        method={listPersonalAccessTokens}
        input={theirs}
        find={({ result }) => result}
        needs={{ create: addPersonalAccessToken, remove: removePersonalAccessToken }}
        create={async ({ expirationDate, name }) => {
          const made = await call(addPersonalAccessToken, { userId, expirationDate, name })
          return { id: made.tokenId, text: made.token }
        }}
        remove={(tokenId) => call(removePersonalAccessToken, { userId, tokenId })}
      />
      <TokenType userId={userId} type={type.value.accessTokenType} />
    </>
  )
}

const types = { opaque: AccessTokenType.BEARER, jwt: AccessTokenType.JWT } as const

type TokenTypeProps = { readonly userId: string; readonly type: AccessTokenType }

/** What the tokens look like that a service user gets for its key or secret. */
function TokenType({ userId, type }: TokenTypeProps) {
  return (
    <Section title={t("tokens_of.type")}>
      <Chosen
        needs={updateUser}
        label={t("tokens_of.form")}
        hint={t(type === types.jwt ? "token_type.jwt.hint" : "token_type.opaque.hint")}
        of={types}
        words={(name) => t(`token_type.${name}`)}
        current={type}
        act={(accessTokenType) => {
          const userType = { case: "machine", value: { accessTokenType } } as const
          return call(updateUser, { userId, userType })
        }}
      />
    </Section>
  )
}
