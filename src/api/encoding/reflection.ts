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
import { waitForAbort } from "./stream.ts"

/** A reflection request; the two versions of the protocol differ only in their names. */
type ReflectionRequest = {
  readonly host: string
  readonly messageRequest:
    | { readonly case: "fileByFilename" | "fileContainingSymbol"; readonly value: string }
    | { readonly case: "allExtensionNumbersOfType" | "listServices"; readonly value: string }
    | { readonly case: "fileContainingExtension"; readonly value: NamedExtension }
    | { readonly case: undefined; readonly value?: undefined }
}

type NamedExtension = { readonly containingType: string; readonly extensionNumber: number }

/** All descriptors that can be requested, by name. */
type Catalog = {
  readonly services: readonly DescService[]
  readonly files: ReadonlyMap<string, DescFile>
  readonly symbols: ReadonlyMap<string, DescFile>
  readonly extensions: readonly DescExtension[]
}

/** gRPC reflection: lists the services and their descriptors for tools. */
export function registerReflection(router: ConnectRouter, services: readonly DescService[]): void {
  const all = [...services, ServerReflection, OlderReflection]
  // Most servers never receive a reflection request.
  let cached: Catalog | undefined
  const catalog = () => {
    cached ??= createCatalog(all)
    return cached
  }
  router.service(ServerReflection, {
    serverReflectionInfo: (requests, context) => respondAll(catalog, requests, context),
  })
  router.service(OlderReflection, {
    serverReflectionInfo: (requests, context) => respondAll(catalog, requests, context),
  })
}

async function* respondAll<R extends ReflectionRequest>(
  catalog: () => Catalog,
  requests: AsyncIterable<R>,
  { signal }: HandlerContext,
) {
  const sent = new Set<DescFile>()
  const end = waitForAbort(signal)
  const each = requests[Symbol.asyncIterator]()
  for (;;) {
    const next = await Promise.race([each.next(), end])
    if (next === "over") throw new ConnectError("the server is stopping", Code.Unavailable)
    if (next.done) return
    const messageResponse = responseTo(catalog(), next.value, sent)
    yield { validHost: next.value.host, originalRequest: next.value, messageResponse }
  }
}

function responseTo(catalog: Catalog, { messageRequest }: ReflectionRequest, sent: Set<DescFile>) {
  switch (messageRequest.case) {
    case "listServices":
      return servicesResponse(catalog)
    case "fileByFilename":
      return fileResponse(catalog.files.get(messageRequest.value), messageRequest.value, sent)
    case "fileContainingSymbol":
      return fileResponse(catalog.symbols.get(messageRequest.value), messageRequest.value, sent)
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = messageRequest.value
      const found = extensionsOf(catalog, containingType).find(
        ({ number }) => number === extensionNumber,
      )
      return fileResponse(found?.file, `extension ${extensionNumber} of ${containingType}`, sent)
    }
    case "allExtensionNumbersOfType":
      return extensionNumbers(catalog, messageRequest.value)
    default:
      return errorResponse(Code.InvalidArgument, "the request is empty")
  }
}

const servicesResponse = ({ services }: Catalog) =>
  ({
    case: "listServicesResponse",
    value: { service: services.map(({ typeName: name }) => ({ name })).sort(byName) },
  }) as const

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)

/** The file and its imports, except those already sent on this stream. */
function fileResponse(file: DescFile | undefined, name: string, sent: Set<DescFile>) {
  if (!file) return notFound(name)
  // The requested file is first and always included.
  const needed = [file, ...importsOf(file).filter((each) => !sent.has(each))]
  for (const each of needed) sent.add(each)
  return {
    case: "fileDescriptorResponse",
    value: { fileDescriptorProto: needed.map(bytesOf) },
  } as const
}

function extensionNumbers(catalog: Catalog, type: string) {
  const file = catalog.symbols.get(type)
  const isMessage = file && [...nestedTypes(file)].some((each) => isMessageOf(each, type))
  if (!isMessage) return notFound(type)
  const extensionNumber = extensionsOf(catalog, type).map(({ number }) => number)
  return {
    case: "allExtensionNumbersResponse",
    value: { baseTypeName: type, extensionNumber },
  } as const
}

const isMessageOf = (desc: AnyDesc, type: string) =>
  desc.kind === "message" && desc.typeName === type

const extensionsOf = ({ extensions }: Catalog, type: string) =>
  extensions.filter(({ extendee }) => extendee.typeName === type)

const notFound = (name: string) => errorResponse(Code.NotFound, `${name} not found`)

const errorResponse = (errorCode: Code, errorMessage: string) =>
  ({ case: "errorResponse", value: { errorCode, errorMessage } }) as const

const encodedFiles = new WeakMap<DescFile, Uint8Array<ArrayBuffer>>()

function bytesOf(file: DescFile): Uint8Array<ArrayBuffer> {
  const bytes = encodedFiles.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto)
  encodedFiles.set(file, bytes)
  return bytes
}

function createCatalog(services: readonly DescService[]): Catalog {
  // No service imports the messages that only errors contain.
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

/** All files that this file imports, directly or indirectly. */
function importsOf({ dependencies }: DescFile): readonly DescFile[] {
  return [...new Set(dependencies.flatMap((file) => [file, ...importsOf(file)]))]
}

/** The full names that a type declares: its own and those of its members. */
function namesOf(type: ReturnType<typeof nestedTypes> extends Iterable<infer T> ? T : never) {
  const inside = ({ name }: { readonly name: string }) => `${type.typeName}.${name}`
  switch (type.kind) {
    case "service":
      return [type.typeName, ...type.methods.map(inside)]
    case "message":
      return [type.typeName, ...[...type.fields, ...type.oneofs].map(inside)]
    case "enum": {
      // The values of an enum are scoped to the parent of the enum.
      const scope = type.typeName.slice(0, -type.name.length)
      return [type.typeName, ...type.values.map(({ name }) => `${scope}${name}`)]
    }
    default:
      return [type.typeName]
  }
}
