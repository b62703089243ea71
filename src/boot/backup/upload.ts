import { type Element, xmlRootOf } from "../../xml/document.ts"

/** Where uploads are, and who may end them. */
export type Signing = {
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

const patienceMs = 30_000

/**
 * Ends uploads in parts that nobody goes on with; Bun's client has no words for them. What is
 * refused stays there: a backup is worth more than that. So does what is beyond the first thousand,
 * until the next time.
 */
export async function dropUploads(signing: Signing, prefix: string): Promise<void> {
  const { AwsClient } = await import("aws4fetch")
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = signing
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: "s3", retries: 1 })
  const at = `${endpoint.replace(/\/+$/, "")}/${bucket}`
  const ask = (url: string, method: string) =>
    client.fetch(url, { method, redirect: "manual", signal: AbortSignal.timeout(patienceMs) })
  try {
    const answer = await ask(`${at}?uploads=&prefix=${encodeURIComponent(prefix)}`, "GET")
    if (!answer.ok) return
    for (const { key, id } of uploadsIn(await xmlRootOf(await answer.text(), reading))) {
      // Whether a storage heeds the prefix is not for it to say.
      if (!key.startsWith(prefix)) continue
      const path = key.split("/").map(encodeURIComponent).join("/")
      await ask(`${at}/${path}?uploadId=${encodeURIComponent(id)}`, "DELETE")
    }
  } catch {
    // Whoever is not there, or answers something else, is told of by what comes next.
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

const reading = {
  name: "the list of uploads",
  bytesMax: 4_000_000,
  bounds: [],
  refusedError: (message: string) => new Error(message),
}
