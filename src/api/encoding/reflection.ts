import {
  type AnyDesc,
  type DescExtension,
  type DescFile,
  type DescService,
  toBinary,
} from "@bufbuild/protobuf"
import { nestedTypes } from "@bufbuild/protobuf/reflect"
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect"
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts"
import { ServerReflection as OlderReflection } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts"
import { detailSchemas } from "./detail.ts"
import { over } from "./stream.ts"

/** What a tool asks; the two versions of the protocol differ in their names alone. */
type Requested = {
  readonly host: string
  readonly messageRequest:
    | { readonly case: "fileByFilename" | "fileContainingSymbol"; readonly value: string }
    | { readonly case: "allExtensionNumbersOfType" | "listServices"; readonly value: string }
    | { readonly case: "fileContainingExtension"; readonly value: NamedExtension }
    | { readonly case: undefined; readonly value?: undefined }
}

type NamedExtension = { readonly containingType: string; readonly extensionNumber: number }

/** Everything that can be asked for, by its name. */
type Catalogue = {
  readonly services: readonly DescService[]
  readonly files: ReadonlyMap<string, DescFile>
  readonly symbols: ReadonlyMap<string, DescFile>
  readonly extensions: readonly DescExtension[]
}

/** The reflection of gRPC: tells tools which services there are, and what they are made of. */
export function reflect(router: ConnectRouter, services: readonly DescService[]): void {
  const all = [...services, ServerReflection, OlderReflection]
  // Most servers are never asked.
  let made: Catalogue | undefined
  const catalogue = () => {
    made ??= catalogueOf(all)
    return made
  }
  router.service(ServerReflection, {
    serverReflectionInfo: (requests, context) => answers(catalogue, requests, context),
  })
  router.service(OlderReflection, {
    serverReflectionInfo: (requests, context) => answers(catalogue, requests, context),
  })
}

async function* answers<R extends Requested>(
  catalogue: () => Catalogue,
  requests: AsyncIterable<R>,
  { signal }: HandlerContext,
) {
  const sent = new Set<DescFile>()
  const end = over(signal)
  const each = requests[Symbol.asyncIterator]()
  for (;;) {
    const next = await Promise.race([each.next(), end])
    if (next === "over") throw new ConnectError("this server is stopping", Code.Unavailable)
    if (next.done) return
    const messageResponse = answerTo(catalogue(), next.value, sent)
    yield { validHost: next.value.host, originalRequest: next.value, messageResponse }
  }
}

function answerTo(
  catalogue: Catalogue,
  { messageRequest: requested }: Requested,
  sent: Set<DescFile>,
) {
  switch (requested.case) {
    case "listServices":
      return listed(catalogue)
    case "fileByFilename":
      return fileAnswer(catalogue.files.get(requested.value), requested.value, sent)
    case "fileContainingSymbol":
      return fileAnswer(catalogue.symbols.get(requested.value), requested.value, sent)
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = requested.value
      const found = extensionsOf(catalogue, containingType).find(
        ({ number }) => number === extensionNumber,
      )
      return fileAnswer(found?.file, `extension ${extensionNumber} of ${containingType}`, sent)
    }
    case "allExtensionNumbersOfType":
      return extensionNumbers(catalogue, requested.value)
    default:
      return refusal(Code.InvalidArgument, "the request asks for nothing")
  }
}

const listed = ({ services }: Catalogue) =>
  ({
    case: "listServicesResponse",
    value: { service: services.map(({ typeName: name }) => ({ name })).sort(byName) },
  }) as const

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)

/** The file and what it imports, but for what this stream was sent already. */
function fileAnswer(file: DescFile | undefined, name: string, sent: Set<DescFile>) {
  if (!file) return notFound(name)
  // What was asked for comes first, and always.
  const needed = [file, ...importsOf(file).filter((each) => !sent.has(each))]
  for (const each of needed) sent.add(each)
  return {
    case: "fileDescriptorResponse",
    value: { fileDescriptorProto: needed.map(bytesOf) },
  } as const
}

function extensionNumbers(catalogue: Catalogue, type: string) {
  const file = catalogue.symbols.get(type)
  const isMessage = file && [...nestedTypes(file)].some((each) => isMessageOf(each, type))
  if (!isMessage) return notFound(type)
  const extensionNumber = extensionsOf(catalogue, type).map(({ number }) => number)
  return {
    case: "allExtensionNumbersResponse",
    value: { baseTypeName: type, extensionNumber },
  } as const
}

const isMessageOf = (desc: AnyDesc, type: string) =>
  desc.kind === "message" && desc.typeName === type

const extensionsOf = ({ extensions }: Catalogue, type: string) =>
  extensions.filter(({ extendee }) => extendee.typeName === type)

const notFound = (name: string) => refusal(Code.NotFound, `there is no ${name} here`)

const refusal = (errorCode: Code, errorMessage: string) =>
  ({ case: "errorResponse", value: { errorCode, errorMessage } }) as const

const kept = new WeakMap<DescFile, Uint8Array<ArrayBuffer>>()

function bytesOf(file: DescFile): Uint8Array<ArrayBuffer> {
  const bytes = kept.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto)
  kept.set(file, bytes)
  return bytes
}

function catalogueOf(services: readonly DescService[]): Catalogue {
  // No service imports what only errors carry.
  const roots = [...services, ...detailSchemas]
  const files = new Set(roots.flatMap(({ file }) => [file, ...importsOf(file)]))
  const symbols = new Map<string, DescFile>()
  const extensions: DescExtension[] = []
  for (const file of files) {
    for (const type of nestedTypes(file)) {
      for (const name of namesOf(type)) symbols.set(name, file)
      if (type.kind === "extension") extensions.push(type)
    }
  }
  const byPath = new Map([...files].map((file) => [file.proto.name, file]))
  return { services, files: byPath, symbols, extensions }
}

/** Every file that this one stands on. */
function importsOf({ dependencies }: DescFile): readonly DescFile[] {
  return [...new Set(dependencies.flatMap((file) => [file, ...importsOf(file)]))]
}

/** The full names that a type declares: its own, and those of its parts. */
function namesOf(type: ReturnType<typeof nestedTypes> extends Iterable<infer T> ? T : never) {
  const inside = ({ name }: { readonly name: string }) => `${type.typeName}.${name}`
  switch (type.kind) {
    case "service":
      return [type.typeName, ...type.methods.map(inside)]
    case "message":
      return [type.typeName, ...[...type.fields, ...type.oneofs].map(inside)]
    case "enum": {
      // The values of an enum are named beside it, not inside.
      const scope = type.typeName.slice(0, -type.name.length)
      return [type.typeName, ...type.values.map(({ name }) => `${scope}${name}`)]
    }
    default:
      return [type.typeName]
  }
}
