import { create, type Message } from "@bufbuild/protobuf"
import { authorize } from "../../src/api/access.ts"
import { accessOf } from "../../src/api/access-rule.ts"
import { nameOf } from "../../src/api/method.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import type { Call, Caller } from "../../src/kernel/context.ts"
import { authority, loadOperations } from "../../src/server/modules.ts"
import type { Provider } from "../oauth/provider.ts"

const operationByName = new Map((await loadOperations()).map((each) => [nameOf(each.method), each]))
const resources = new Set(Object.keys(authority.resources))

/** Calls an operation ("session.v2.SessionService/GetSession") through its access rule. */
export type CallAs = (name: string, request?: object, call?: Partial<Call>) => Promise<any>

/** Calls operations of a provider as a caller. */
export const callAs =
  (provider: Provider, caller: Caller): CallAs =>
  async (name, request = {}, call = {}) => {
    const operation = operationByName.get(`core.${name}`)
    if (!operation) throw new Error(`the book has no ${name}`)
    const { method, handler } = operation
    const { scope: _, ...cx } = provider.cx({ caller, ...call })
    const message: Message = create(method.input, request as never)
    const admitted = authorize(authority, accessOf(method, resources), cx, message)
    return create(method.output, Object(await handler(message, admitted)))
  }

/** A service account of the first organization with roles on the instance. */
export async function addServiceCaller(
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

/**
 * The service account of a custom login page: it has the page's role, and calls operations only.
 */
export const addLoginPageCaller = async (provider: Provider): Promise<CallAs> =>
  callAs(provider, await addServiceCaller(provider, { name: "page", roles: ["IAM_LOGIN_CLIENT"] }))
