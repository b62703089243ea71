import { expect, test } from "vitest"
import { parseXml } from "../../src/xml/document.ts"
import {
  directTextOf,
  type Element,
  type MessageReading,
  readMessage,
  responseSize,
} from "../../src/xml/read.ts"

const reading: MessageReading = {
  name: "the message",
  size: responseSize,
  refusedError: (message) => new Error(message),
}
const read = (xml: string) => readMessage(xml, reading)

/** Parsed as for less critical uses. */
async function readLoosely(xml: string): Promise<Element> {
  const root = await parseXml(xml, { ...reading, bytesMax: xml.length, bounds: [] })
  if (!root) throw new Error("there is no root")
  return root
}

test.each<[string, string]>([
  ["a comment", "<a>bob<!--by--></a>"],
  ["a CDATA section", "<a>bob<![CDATA[by]]></a>"],
  ["a processing instruction", "<a>bob<?x by?></a>"],
])("rejects %s, which no message contains", async (_, xml) => {
  expect(directTextOf(await readLoosely(xml))).toBe("bobby")
  await expect(read(xml)).rejects.toThrow("must not have comments, CDATA")
  expect(directTextOf(await read("<a>bob</a>"))).toBe("bob")
})

test.each<[string, (at: number) => string]>([
  ["attributes", (at) => `a${at}="1"`],
  ["namespaces", (at) => `xmlns:a${at}="1"`],
])("an element has at most 64 %s, wherever it is", async (_, make) => {
  const said = (count: number) => Array.from({ length: count }, (_, at) => make(at)).join(" ")
  const around = (count: number) => `<a><b ${said(64)}/><b><c ${said(count)}/></b></a>`
  expect((await read(around(64))).localName).toBe("a")
  await expect(read(around(65))).rejects.toThrow("more than 64 attributes")
})

// XML 1.0 §2.2 and §4.1. The corpus of the target "svg" has the original input.
test.each<[string, string]>([
  ["NUL", "<a>bob\0</a>"],
  ["NUL in an attribute", "<a b='\0'/>"],
  ["a control character", "<a>\u0001</a>"],
  ["half of a surrogate pair", "<a>\ud800</a>"],
  ["U+FFFF", "<a>\uffff</a>"],
  ["a reference to NUL", "<a>bob&#0;</a>"],
  ["a reference to a control character", "<a b='&#x1;'/>"],
  ["a reference to half of a surrogate pair", "<a>&#xD800;</a>"],
  ["a reference beyond Unicode", "<a>&#x110000;</a>"],
  ["a reference with many digits", `<a>&#${"9".repeat(400)};</a>`],
])("rejects %s", async (_, xml) => {
  await expect(readLoosely(xml)).rejects.toThrow("not well-formed")
  await expect(read(xml)).rejects.toThrow("not well-formed")
})

test("accepts characters and references that a document can have", async () => {
  const root = await read("<a>\t\u0085\ud83e\udd8a&#9;&#65;&#x1F98A;</a>")
  expect(directTextOf(root)).toBe("\t\u0085\ud83e\udd8a\tA\ud83e\udd8a")
})
