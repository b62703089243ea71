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

/** What a module says to one operation. */
type Handler<M extends Pick<DescMethod, "input" | "output">, C> = (
  request: MessageShape<M["input"]>,
  cx: C,
) => Promise<MessageInitShape<M["output"]>> | MessageInitShape<M["output"]>

type AnyService = GenService<GenServiceMethods>

type Handlers<S extends AnyService, C> = {
  readonly [Name in keyof S["method"]]?: Handler<S["method"][Name], C>
}

/** A handler after its types have done their work. */
type Erased<C> = (request: Message, cx: C) => Promise<unknown> | unknown

/** The operations of one service that one module answers. */
export type Share<S extends AnyService = AnyService, Names = string, C = never> = {
  readonly service: S
  readonly handlers: Readonly<Record<string, Erased<C>>>
  /** Only for the compiler, which compares the names of all shares with the book. */
  readonly names?: Names
}

/**
 * Binds some methods of a service, in a module's v1.ts or v2.ts: `share<Cx>()(UserService, {…})`.
 * A misspelt method and a wrong answer do not compile.
 */
export const share =
  <C extends Call>() =>
  <S extends AnyService, H extends Handlers<S, C>>(
    service: S,
    handlers: H & Record<Exclude<keyof H, keyof S["method"]>, never>,
  ): Share<S, keyof H, C> => ({
    service,
    // Reason for the cast: the dispatcher decodes each request by the very descriptor that typed
    // its handler, so the pairs fit, which a table of mixed methods can't say in types.
    handlers: handlers as unknown as Readonly<Record<string, Erased<C>>>,
  })

/** One method of the book with the module's answer to it. */
export type Operation<C> = {
  readonly method: DescMethod
  readonly handler: Erased<C>
}

/** A share of any module. Reason for any: contexts are inputs, so no one type takes them all. */
type AnyShare = Share<AnyService, PropertyKey, any>

/** Names of a service that a share binds. */
type Bound<S extends AnyService, Each> =
  Each extends Share<infer Of, infer Names, any> ? (S extends Of ? Names : never) : never

/** The context that every one of the shares is content with. */
type ContextOf<Each> = Each extends Share<any, any, infer C> ? C : never

/** Methods of the book that nobody binds, as texts. */
type Missing<Book extends readonly AnyService[], Each> = {
  [At in keyof Book]: Exclude<keyof Book[At]["method"], Bound<Book[At], Each>>
}[number]

/** Accepts every list where the shares cover the book, else asks for what nobody can give. */
type Complete<Book extends readonly AnyService[], Each> = [Missing<Book, Each>] extends [never]
  ? unknown
  : { readonly nobodyBinds: Missing<Book, Each> }

/**
 * Lays the shares of all modules beside the book. A method that nobody binds does not compile, and
 * both that and a method bound twice stop the start.
 */
export function join<
  const Book extends readonly AnyService[],
  const Shares extends readonly AnyShare[],
>(
  book: Book,
  shares: Shares & Complete<Book, Shares[number]>,
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
    if (missing) throw new Error(`nobody binds ${nameOf(missing)}`)
  }
  return [...operations.values()]
}

/**
 * Asks operations of some shares as a caller would, for a table whose operations do what several
 * others do: what a request may hold is checked, the handler decides. Who may ask is checked by
 * whoever asks.
 */
export const askerOf =
  <C extends Call>(shares: readonly Share<AnyService, PropertyKey, C>[]) =>
  async <M extends DescMethod>(
    cx: C,
    method: M,
    request: MessageInitShape<M["input"]>,
  ): Promise<MessageShape<M["output"]>> => {
    const bound = shares.find(
      ({ service, handlers }) => service === method.parent && method.localName in handlers,
    )
    const handler = bound?.handlers[method.localName]
    if (!handler) throw new Error(`${nameOf(method)} is of none of these shares`)
    const asked = create(method.input, request)
    checkValues(method.input, asked)
    // Reason for the casts: a descriptor that is a type variable has no shapes that the compiler
    // could compare; the share has bound the handler to this very method.
    return create(method.output, Object(await handler(asked, cx))) as MessageShape<M["output"]>
  }

/** How a method reads in paths, logs and messages: "core.user.v2.UserService/CreateUser". */
export const nameOf = (method: DescMethod): string => `${method.parent.typeName}/${method.name}`

/** Whether x-core-orgid names the organization that a call is made for: in version 1. */
export const hasContext = ({ parent }: DescMethod): boolean =>
  contextPackages.has(parent.file.proto.package)

const contextPackages = new Set(["core.admin.v1", "core.auth.v1", "core.management.v1"])
