import { pageOf } from "../../kernel/page.ts"
import { at, details } from "../../protocol/api/answer.ts"
import { type MaskedRequest, mergedWith, selectionOf } from "../../protocol/api/mask.ts"
import { type Cx, windowOf } from "../../store/index.ts"
import {
  activateProvider,
  activeProvider,
  addProvider,
  changeProvider,
  changeSecret,
  deactivateProvider,
  findProvider,
  providersOf,
  removeProvider,
  type Wish,
} from "./commands.ts"
import type { Channel, Provider } from "./model.ts"

type Named = { readonly id: string }

/** A provider, and whether it is the one that messages go by. */
export type Shown = { readonly provider: Provider; readonly isActive: boolean }

/** What v1 does with the providers of a channel; it is the same with each. */
export function operationsOf(channel: Channel) {
  const shown = (cx: Cx, provider: Provider): Shown => ({
    provider,
    isActive: providersOf(cx, channel).active === provider.id,
  })
  const turn =
    (command: typeof activateProvider) =>
    async ({ id }: Named, cx: Cx) => ({
      details: details(await command(cx, channel, id)),
    })
  return {
    activate: turn(activateProvider),
    deactivate: turn(deactivateProvider),
    remove: turn(removeProvider),
    add: async (cx: Cx, wish: Wish) => {
      const receipt = await addProvider(cx, channel, wish)
      return { id: receipt.id, details: details(receipt) }
    },
    change: async (cx: Cx, { id }: Named, wish: Parameters<typeof changeProvider>[3]) => ({
      details: details(await changeProvider(cx, channel, id, wish)),
    }),
    changeSecret: async (cx: Cx, { id }: Named, secret: Parameters<typeof changeSecret>[3]) => ({
      details: details(await changeSecret(cx, channel, id, secret)),
    }),
    find: (cx: Cx, { id }: Named) => shown(cx, findProvider(cx, channel, id)),
    active: (cx: Cx): Shown | undefined => {
      const provider = activeProvider(cx, channel)
      return provider && { provider, isActive: true }
    },
    list: (cx: Cx, query: Parameters<typeof pageOf>[0], kinds?: readonly string[]) => {
      const all = Object.values(providersOf(cx, channel).providers)
      const found = windowOf(cx, kinds ? all.filter(({ kind }) => kinds.includes(kind)) : all, {
        page: pageOf(query),
        requested: ["message_providers", channel, kinds],
        by: ({ created, id }) => [created, id],
      })
      return {
        details: {
          totalResult: BigInt(found.total),
          processedSequence: BigInt(cx.store.log.durable()),
          viewTimestamp: at(cx.clock.now()),
        },
        rows: found.rows.map((provider) => shown(cx, provider)),
      }
    },
  }
}

export const standOf = (cx: Cx, { provider }: Shown) => details({ ...provider, owner: cx.instance })

/** What a service is signed for by: it is shown once, and stays until a new one is made. */
export const newSigningKey = (cx: Cx): string =>
  Buffer.from(cx.random.bytes(32)).toString("base64url")

type Service = { readonly endpoint: string; readonly description: string }

/** What a request changes of a service, and the signing key that it gets, if it gets a new one. */
export function serviceChange(
  cx: Cx,
  req: Service & MaskedRequest & { readonly expirationSigningKey?: object | undefined },
) {
  const isRenewed = req.expirationSigningKey && selectionOf(req)("expirationSigningKey")
  const secret = isRenewed ? newSigningKey(cx) : undefined
  const { endpoint, description } = req
  const said = { kind: "http", description, endpoint } as const
  const say = (before: Provider) => {
    const { endpoint, description } = mergedWith(req, before)
    return { settings: { ...said, endpoint, description }, secret }
  }
  const wish = req.updateMask ? { kind: said.kind, say } : { settings: said, secret }
  return { secret, wish }
}
