// Package hubcache keeps models of the Hugging Face Hub in the folder that the Hub's own
// clients use, and in their layout, so that each file is downloaded and stored once:
//
//	CACHEDIR.TAG
//	.locks/models--ORG--NAME/BLOB.lock    held while the blob is downloaded
//	models--ORG--NAME/                    a dataset: datasets--ORG--NAME
//	  blobs/BLOB                          named by SHA-256 (large file) or git SHA-1
//	  blobs/BLOB.seer.incomplete          what package transfer works on
//	  refs/REVISION                       the commit, without a newline
//	  snapshots/COMMIT/PATH               relative link to ../../blobs/BLOB
//	  trees/COMMIT.json                   all files of the commit
//	  .seer/COMMIT/                       a view, if it cannot be in the cache of the engine
//
// Old clients continue any BLOB.incomplete from its end and look at its size alone. Bytes of
// package transfer are not in order, so that its files have another name.
//
// A blob that somebody else has put there counts if its size and hash are right. The hash is
// read once and remembered in the engine's cache, not in the Hub's. A wrong blob is reported
// and replaced, when a right one has been downloaded and verified.
//
// Newer clients may keep blobs in a store that repositories share, marked by a file
// .huggingface-shared-blobs, with links in blobs/. This package follows these links. It
// downloads plain blobs, which those clients read as well. It never writes to the shared store.
//
// A machine is shown a folder of plain files, the view: hard links to the blobs. It lies in
// the engine's cache, or in the repository's folder if the engine's cache is on another file
// system. Files that cannot be linked at all are copied, and a [Notice] says so.
package hubcache
