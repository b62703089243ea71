import { create, type Message } from "@bufbuild/protobuf"
import { accessOf, authorise } from "../../src/api/access.ts"
import { nameOf } from "../../src/api/method.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import type { Call, Caller } from "../../src/kernel/context.ts"
import { authority, operations } from "../../src/server/modules.ts"
import type { Provider } from "../oauth/provider.ts"

const book = new Map((await operations()).map((each) => [nameOf(each.method), each]))
const resources = new Set(Object.keys(authority.resources))

/** Calls an operation ("session.v2.SessionService/GetSession") through its access rule. */
export type Calling = (name: string, request?: object, more?: Partial<Call>) => Promise<any>

/** Calls operations of a provider as somebody. */
export const callingAs =
  (provider: Provider, caller: Caller): Calling =>
  async (name, request = {}, more = {}) => {
    const operation = book.get(`core.${name}`)
    if (!operation) throw new Error(`the book has no ${name}`)
    const { method, handler } = operation
    const { scope: _, ...cx } = provider.cx({ caller, ...more })
    const message: Message = create(method.input, request as never)
    const admitted = authorise(authority, accessOf(method, resources), cx, message)
    return create(method.output, Object(await handler(message, admitted)))
  }

/** A service user of the first organisation with roles on the instance. */
export async function addServiceUser(
  provider: Provider,
  { name, roles }: { readonly name: string; readonly roles: readonly string[] },
): Promise<Caller> {
  const cx = provider.cx()
  const userId = cx.ids.next()
  const { orgId } = provider.setup
  await createUser(cx, userId, {
    kind: "machine",
    orgId,
    userName: name,
    name,
    description: "",
    accessTokenType: "bearer",
  })
  await cx.store.transact(cx, (tx) => {
    if (roles.length > 0) addMember(tx, { userId, target: { level: "instance" }, roles })
  })
  return { kind: "user", userId, orgId, clientId: name }
}

/** A login page of somebody else: it may do what one needs, and has nothing but operations. */
export const openLoginPage = async (provider: Provider): Promise<Calling> =>
  callingAs(provider, await addServiceUser(provider, { name: "page", roles: ["IAM_LOGIN_CLIENT"] }))
