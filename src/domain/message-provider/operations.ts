import { parsePage } from "../../kernel/page.ts"
import { createSelection, type MaskedRequest, mergeWithStored } from "../../protocol/api/mask.ts"
import { toDetails, toTimestamp } from "../../protocol/api/response.ts"
import { type Cx, paginate } from "../../store/index.ts"
import {
  activateProvider,
  activeProvider,
  addProvider,
  changeProvider,
  changeSecret,
  deactivateProvider,
  findProvider,
  type ProviderInput,
  providersOf,
  removeProvider,
} from "./commands.ts"
import type { Channel, Provider } from "./model.ts"

type ProviderRef = { readonly id: string }

/** A provider, and whether it is active. */
export type ProviderStatus = { readonly provider: Provider; readonly isActive: boolean }

/** The v1 operations on the providers of a channel, which are the same for all channels. */
export function operationsOf(channel: Channel) {
  const display = (cx: Cx, provider: Provider): ProviderStatus => ({
    provider,
    isActive: providersOf(cx, channel).active === provider.id,
  })
  const setActive =
    (command: typeof activateProvider) =>
    async ({ id }: ProviderRef, cx: Cx) => ({
      details: toDetails(await command(cx, channel, id)),
    })
  return {
    activate: setActive(activateProvider),
    deactivate: setActive(deactivateProvider),
    remove: setActive(removeProvider),
    add: async (cx: Cx, providerInput: ProviderInput) => {
      const receipt = await addProvider(cx, channel, providerInput)
      return { id: receipt.id, details: toDetails(receipt) }
    },
    change: async (
      cx: Cx,
      { id }: ProviderRef,
      providerInput: Parameters<typeof changeProvider>[3],
    ) => ({
      details: toDetails(await changeProvider(cx, channel, id, providerInput)),
    }),
    changeSecret: async (
      cx: Cx,
      { id }: ProviderRef,
      secret: Parameters<typeof changeSecret>[3],
    ) => ({
      details: toDetails(await changeSecret(cx, channel, id, secret)),
    }),
    find: (cx: Cx, { id }: ProviderRef) => display(cx, findProvider(cx, channel, id)),
    active: (cx: Cx): ProviderStatus | undefined => {
      const provider = activeProvider(cx, channel)
      return provider && { provider, isActive: true }
    },
    list: (cx: Cx, query: Parameters<typeof parsePage>[0], kinds?: readonly string[]) => {
      const all = Object.values(providersOf(cx, channel).providers)
      const found = paginate(cx, kinds ? all.filter(({ kind }) => kinds.includes(kind)) : all, {
        page: parsePage(query),
        requested: ["message_providers", channel, kinds],
        by: ({ created, id }) => [created, id],
      })
      return {
        details: {
          totalResult: BigInt(found.total),
          processedSequence: BigInt(cx.store.log.durable()),
          viewTimestamp: toTimestamp(cx.clock.now()),
        },
        rows: found.rows.map((provider) => display(cx, provider)),
      }
    },
  }
}

export const detailsOf = (cx: Cx, { provider }: ProviderStatus) =>
  toDetails({ ...provider, owner: cx.instance })

/**
 * The signing key for an HTTP service; it is shown only once and is valid until a new one is
 * created.
 */
export const createSigningKey = (cx: Cx): string =>
  Buffer.from(cx.random.bytes(32)).toString("base64url")

type HttpService = { readonly endpoint: string; readonly description: string }

/** The changes in a request for an HTTP service, and the new signing key if one was requested. */
export function createServiceUpdate(
  cx: Cx,
  req: HttpService & MaskedRequest & { readonly expirationSigningKey?: object | undefined },
) {
  const isRenewed = req.expirationSigningKey && createSelection(req)("expirationSigningKey")
  const secret = isRenewed ? createSigningKey(cx) : undefined
  const { endpoint, description } = req
  const message = { kind: "http", description, endpoint } as const
  const applyUpdate = (before: Provider) => {
    const { endpoint, description } = mergeWithStored(req, before)
    return { settings: { ...message, endpoint, description }, secret }
  }
  const providerInput = req.updateMask
    ? { kind: message.kind, say: applyUpdate }
    : { settings: message, secret }
  return { secret, wish: providerInput }
}
