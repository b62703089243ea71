import { brotliDecompressSync } from "node:zlib"
import { createArea } from "./route.ts"

type AssetBytes = Uint8Array<ArrayBuffer>

/**
 * Filled on the first request for an asset: names change with the content, so entries never become
 * stale.
 */
const decodedAssets = {
  gzip: new Map<string, AssetBytes>(),
  identity: new Map<string, AssetBytes>(),
}

/** The embedded files by path. */
type Assets = Readonly<Record<string, { readonly type: string; readonly br: string }>>

/**
 * Serves the embedded files as immutable. They are stored in brotli, which browsers accept only on
 * secure connections; gzip is created for others. `nothing` answers all other paths below.
 */
export const assetRoutes = (assets: Assets, notFound: () => Response) =>
  createArea("asset", {
    "/ui/assets/*": {
      anyHost: async ({ request, url }) =>
        (await findAsset(assets, request, url.pathname)) ?? notFound(),
    },
  })

async function findAsset(
  assets: Assets,
  { method, headers }: Request,
  pathname: string,
): Promise<Response | undefined> {
  if (method !== "GET" && method !== "HEAD") return undefined
  const asset = Object.hasOwn(assets, pathname) ? assets[pathname] : undefined
  if (!asset) return undefined
  const cached = {
    "content-type": asset.type,
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
  }
  const accepted = headers.get("accept-encoding") ?? ""
  if (/\bbr\b/.test(accepted)) {
    return new Response(Bun.file(asset.br), { headers: { ...cached, "content-encoding": "br" } })
  }
  if (!/\bgzip\b/.test(accepted)) {
    return new Response(await decompress(asset.br), { headers: cached })
  }
  const body = decodedAssets.gzip.get(pathname) ?? Bun.gzipSync(await decompress(asset.br))
  decodedAssets.gzip.set(pathname, body)
  return new Response(body, { headers: { ...cached, "content-encoding": "gzip" } })
}

async function decompress(file: string): Promise<AssetBytes> {
  const cachedBytes = decodedAssets.identity.get(file)
  if (cachedBytes) return cachedBytes
  const bytes = new Uint8Array(brotliDecompressSync(await Bun.file(file).bytes()))
  decodedAssets.identity.set(file, bytes)
  return bytes
}
