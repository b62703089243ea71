import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Credentials } from "../list/credentials.tsx"
import { call } from "../shell/call.ts"

/** Personal access tokens: a service user sends them as they are. */
export function ServiceTokens({ userId }: { readonly userId: string }) {
  const filter = { case: "userIdFilter", value: { id: userId } } as const
  const { addPersonalAccessToken, removePersonalAccessToken } = UserService.method
  return (
    <Credentials
      family="tokens"
      method={UserService.method.listPersonalAccessTokens}
      input={{ filters: [{ filter }] }}
      find={({ result }) => result}
      needs={{ create: addPersonalAccessToken, remove: removePersonalAccessToken }}
      create={async ({ expirationDate }) => {
        const made = await call(addPersonalAccessToken, { userId, expirationDate })
        return { id: made.tokenId, text: made.token }
      }}
      remove={(tokenId) => call(removePersonalAccessToken, { userId, tokenId })}
    />
  )
}
