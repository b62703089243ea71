import {
  create,
  type DescMethod,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf"
import type { GenService, GenServiceMethods } from "@bufbuild/protobuf/codegenv2"
import type { Call } from "../kernel/context.ts"
import { checkValues } from "./input/values.ts"

/** The function of a module that handles one operation. */
type Handler<M extends Pick<DescMethod, "input" | "output">, C> = (
  request: MessageShape<M["input"]>,
  cx: C,
) => Promise<MessageInitShape<M["output"]>> | MessageInitShape<M["output"]>

type AnyService = GenService<GenServiceMethods>

type Handlers<S extends AnyService, C> = {
  readonly [Name in keyof S["method"]]?: Handler<S["method"][Name], C>
}

/** A handler without its request and response types. */
type UntypedHandler<C> = (request: Message, cx: C) => Promise<unknown> | unknown

/** The operations of one service that one module handles. */
export type HandlerShare<S extends AnyService = AnyService, Names = string, C = never> = {
  readonly service: S
  readonly handlers: Readonly<Record<string, UntypedHandler<C>>>
  /** Only for the compiler, which compares the names of all shares with the services. */
  readonly names?: Names
}

/**
 * Binds some methods of a service, in a module's v1.ts or v2.ts: `share<Cx>()(UserService, {…})`. A
 * misspelled method or a wrong response type does not compile.
 */
export const bindHandlers =
  <C extends Call>() =>
  <S extends AnyService, H extends Handlers<S, C>>(
    service: S,
    handlers: H & Record<Exclude<keyof H, keyof S["method"]>, never>,
  ): HandlerShare<S, keyof H, C> => ({
    service,
    // The cast is needed because the dispatcher decodes each request with the descriptor that typed
    // its handler, which the type of a table of mixed methods can't express.
    handlers: handlers as unknown as Readonly<Record<string, UntypedHandler<C>>>,
  })

/** A method and its handler. */
export type Operation<C> = {
  readonly method: DescMethod
  readonly handler: UntypedHandler<C>
}

/**
 * A share of any module. `any` is needed because contexts are parameters, so no single type accepts
 * them all.
 */
type AnyHandlerShare = HandlerShare<AnyService, PropertyKey, any>

/** The methods of a service that a share binds. */
type BoundNames<S extends AnyService, Each> =
  Each extends HandlerShare<infer Of, infer Names, any> ? (S extends Of ? Names : never) : never

/** The context that satisfies all shares. */
type ContextOf<Each> = Each extends HandlerShare<any, any, infer C> ? C : never

/** The names of methods that no share binds. */
type UnboundNames<Book extends readonly AnyService[], Each> = {
  [At in keyof Book]: Exclude<keyof Book[At]["method"], BoundNames<Book[At], Each>>
}[number]

/** Accepts the shares if they bind every method; otherwise it requires an impossible property. */
type RequireComplete<Book extends readonly AnyService[], Each> = [
  UnboundNames<Book, Each>,
] extends [never]
  ? unknown
  : { readonly nobodyBinds: UnboundNames<Book, Each> }

/**
 * Combines the shares of all modules. An unbound method does not compile; an unbound method or one
 * that is bound twice also prevents the start.
 */
export function bindServices<
  const Book extends readonly AnyService[],
  const Shares extends readonly AnyHandlerShare[],
>(
  book: Book,
  shares: Shares & RequireComplete<Book, Shares[number]>,
): readonly Operation<ContextOf<Shares[number]>>[] {
  const operations = new Map<DescMethod, Operation<ContextOf<Shares[number]>>>()
  for (const { service, handlers } of shares) {
    for (const [name, handler] of Object.entries(handlers)) {
      const method = service.method[name]
      if (!method) throw new Error(`${service.typeName} has no method "${name}"`)
      if (operations.has(method)) throw new Error(`${nameOf(method)} is bound twice`)
      operations.set(method, { method, handler })
    }
  }
  for (const service of book) {
    const missing = service.methods.find((method) => !operations.has(method))
    if (missing) throw new Error(`${nameOf(missing)} is not bound`)
  }
  return [...operations.values()]
}

/**
 * Calls operations of some shares for an operation that combines several others. Field rules are
 * checked here; the caller of this function must check access.
 */
export const createCaller =
  <C extends Call>(shares: readonly HandlerShare<AnyService, PropertyKey, C>[]) =>
  async <M extends DescMethod>(
    cx: C,
    method: M,
    request: MessageInitShape<M["input"]>,
  ): Promise<MessageShape<M["output"]>> => {
    const bound = shares.find(
      ({ service, handlers }) => service === method.parent && method.localName in handlers,
    )
    const handler = bound?.handlers[method.localName]
    if (!handler) throw new Error(`${nameOf(method)} is not in these shares`)
    const message = create(method.input, request)
    checkValues(method.input, message)
    // The casts are needed because the descriptor is a type variable, whose shapes the compiler
    // can't compare. The share has bound the handler to this method.
    return create(method.output, Object(await handler(message, cx))) as MessageShape<M["output"]>
  }

/** The full name of a method in paths, logs and messages: "core.user.v2.UserService/CreateUser". */
export const nameOf = (method: DescMethod): string => `${method.parent.typeName}/${method.name}`

/** Whether the method accepts x-core-orgid, the organization of the call; only version 1 does. */
export const hasContext = ({ parent }: DescMethod): boolean =>
  contextPackages.has(parent.file.proto.package)

const contextPackages = new Set(["core.admin.v1", "core.auth.v1", "core.management.v1"])
