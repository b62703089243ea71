import { type Element, parseXml } from "../../xml/document.ts"

/** The location of uploads and the credentials for aborting them. */
export type UploadCredentials = {
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

const timeoutMs = 30_000

/**
 * Aborts abandoned multipart uploads, which Bun's client can't do. Errors are ignored because the
 * backup is more important. At most 1,000 uploads are aborted each time.
 */
export async function abortUploads(signing: UploadCredentials, prefix: string): Promise<void> {
  const { AwsClient } = await import("aws4fetch")
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = signing
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: "s3", retries: 1 })
  const at = `${endpoint.replace(/\/+$/, "")}/${bucket}`
  const request = (url: string, method: string) =>
    client.fetch(url, { method, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) })
  try {
    const answer = await request(`${at}?uploads=&prefix=${encodeURIComponent(prefix)}`, "GET")
    if (!answer.ok) return
    for (const { key, id } of uploadsIn(await parseXml(await answer.text(), xmlLimits))) {
      // Some storages ignore the prefix.
      if (!key.startsWith(prefix)) continue
      const path = key.split("/").map(encodeURIComponent).join("/")
      await request(`${at}/${path}?uploadId=${encodeURIComponent(id)}`, "DELETE")
    }
  } catch {
    // Connection errors and unexpected responses are reported by the next request.
  }
}

function uploadsIn(root: Element | null): readonly { readonly key: string; readonly id: string }[] {
  const textOf = (element: Element, name: string) =>
    element.getElementsByTagNameNS("*", name).item(0)?.textContent ?? ""
  return [...(root?.getElementsByTagNameNS("*", "Upload") ?? [])].map((upload) => ({
    key: textOf(upload, "Key"),
    id: textOf(upload, "UploadId"),
  }))
}

const xmlLimits = {
  name: "the list of uploads",
  bytesMax: 4_000_000,
  bounds: [],
  refusedError: (message: string) => new Error(message),
}
