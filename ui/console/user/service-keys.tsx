import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Credentials } from "../list/credentials.tsx"
import { call } from "../shell/call.ts"

/** The keys with which a service user signs its assertions. */
export function ServiceKeys({ userId }: { readonly userId: string }) {
  const filter = { case: "userIdFilter", value: { id: userId } } as const
  return (
    <Credentials
      family="keys"
      takesPublicKey
      method={UserService.method.listKeys}
      input={{ filters: [{ filter }] }}
      find={({ result }) => result}
      needs={{ create: UserService.method.addKey, remove: UserService.method.removeKey }}
      create={async (wanted) => {
        const { keyId, keyContent } = await call(UserService.method.addKey, { userId, ...wanted })
        const isOwn = wanted.publicKey.length > 0
        return { id: keyId, text: isOwn ? "" : new TextDecoder().decode(keyContent) }
      }}
      remove={(keyId) => call(UserService.method.removeKey, { userId, keyId })}
    />
  )
}
