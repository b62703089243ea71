import { create, type DescMethod, type Message } from "@bufbuild/protobuf"
import type { Cx } from "../../src/store/index.ts"

type AnyShare = {
  readonly service: { readonly method: Readonly<Record<string, DescMethod>> }
  readonly handlers: Readonly<Record<string, (request: Message, cx: any) => unknown>>
}

/**
 * Calls an operation's binding as the pipeline does, without decoding and access checks: the
 * request and the response are messages.
 */
export async function callOperation(
  shares: readonly AnyShare[],
  name: string,
  cx: Cx,
  request: object = {},
): Promise<any> {
  const share = shares.find((each) => name in each.handlers)
  const method = share?.service.method[name]
  if (!share || !method) throw new Error(`no share binds ${name}`)
  const message = create(method.input, request as never)
  return create(method.output, (await share.handlers[name]?.(message, cx)) as never)
}
